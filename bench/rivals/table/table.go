// table.go - benchmark cases in Go with the names of ccc-bench: `table CASE workers=N [n=COUNT]` prints
// one line of JSON, {"na":true} for a case that is not here.  tools/bench runs both in turns.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func argument(name string, otherwise int) int {
	for _, word := range os.Args[2:] {
		if n, err := strconv.Atoi(strings.TrimPrefix(word, name+"=")); err == nil {
			return n
		}
	}
	return otherwise
}

func check(ok bool, what string) {
	if !ok {
		fmt.Fprintln(os.Stderr, "table: "+what)
		os.Exit(1)
	}
}

func sumTo(n int) int { return n * (n - 1) / 2 }

// Runs tasks and waits for all of them.
func together(n int, run func(i int)) {
	var group sync.WaitGroup
	group.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			run(i)
			group.Done()
		}(i)
	}
	group.Wait()
}

func yields(tasks int) func(n int) {
	return func(n int) {
		together(tasks, func(int) {
			for i := 0; i < n/tasks; i++ {
				runtime.Gosched()
			}
		})
	}
}

func spawnAndJoin(n int) {
	ended := make(chan struct{})
	for i := 0; i < n; i++ {
		go func() { ended <- struct{}{} }()
		<-ended
	}
}

func spawnMany(n int) {
	var ran atomic.Int64
	together(n, func(int) { ran.Add(1) })
	check(int(ran.Load()) == n, "tasks are missing")
}

func channelAlone(n int) {
	c := make(chan int, 16)
	sum := 0
	for i := 0; i < n; i++ {
		c <- i
		sum += <-c
	}
	check(sum == sumTo(n), "the sum is wrong")
}

func roundTrips(n int) {
	there, back := make(chan int), make(chan int)
	go func() {
		for v := range there {
			back <- v + 1
		}
	}()
	v := 0
	for i := 0; i < n; i++ {
		there <- v
		v = <-back
	}
	close(there)
	check(v == n, "answers are missing")
}

func manyToMany(producers, consumers, capacity int) func(n int) {
	return func(n int) {
		c := make(chan int, capacity)
		var received, sum atomic.Int64
		var group sync.WaitGroup
		group.Add(consumers)
		for i := 0; i < consumers; i++ {
			go func() {
				count, mine := 0, 0
				for v := range c {
					mine += v
					count++
				}
				received.Add(int64(count))
				sum.Add(int64(mine))
				group.Done()
			}()
		}
		each := n/producers + 1
		together(producers, func(int) {
			for i := 0; i < each; i++ {
				c <- i
			}
		})
		close(c)
		group.Wait()
		check(int(received.Load()) == producers*each && int(sum.Load()) == producers*sumTo(each),
			"elements are missing")
	}
}

func ring(size int) func(n int) {
	return func(n int) {
		channels := make([]chan int, size)
		for i := range channels {
			channels[i] = make(chan int)
		}
		ended := make(chan struct{})
		for i := range channels {
			go func(from, to chan int) {
				for hops := range from {
					if hops == 0 {
						close(ended)
						return
					}
					select {
					case to <- hops - 1:
					case <-ended:
						return
					}
				}
			}(channels[i], channels[(i+1)%size])
		}
		channels[0] <- n
		<-ended
		for _, c := range channels {
			close(c)
		}
	}
}

func locks(tasks int) func(n int) {
	return func(n int) {
		var mutex sync.Mutex
		counter, each := 0, n/tasks
		together(tasks, func(int) {
			for i := 0; i < each; i++ {
				mutex.Lock()
				counter++
				mutex.Unlock()
			}
		})
		check(counter == each*tasks, "the count is wrong")
	}
}

func selectOfTwo(n int) {
	a, b, stop := make(chan int), make(chan int), make(chan struct{})
	for _, c := range []chan int{a, b} {
		go func(c chan int) {
			for {
				select {
				case c <- 1:
				case <-stop:
					return
				}
			}
		}(c)
	}
	sum := 0
	for i := 0; i < n; i++ {
		select {
		case v := <-a:
			sum += v
		case v := <-b:
			sum += v
		}
	}
	close(stop)
	check(sum == n, "the sum is wrong")
}

func setAndCancel(n int) {
	for i := 0; i < n; i++ {
		check(time.AfterFunc(time.Second, func() {}).Stop(), "a timer fired")
	}
}

// What a name stands for; nil: no such case.
func caseOf(name string) (run func(n int), fixed int) {
	var a, b, c int
	switch name {
	case "yield_pair":
		return yields(2), 0
	case "spawn_join_seq":
		return spawnAndJoin, 0
	case "spawn_batch_100k":
		return spawnMany, 100000
	case "spawn_batch_1m":
		return spawnMany, 1000000
	case "chan_local":
		return channelAlone, 0
	case "pingpong_unbuf":
		return roundTrips, 0
	case "mpmc_8x8_unbuf":
		return manyToMany(8, 8, 0), 0
	case "select_2":
		return selectOfTwo, 0
	case "mutex_64":
		return locks(64), 0
	case "timer_cancel":
		return setAndCancel, 0
	}
	if k, _ := fmt.Sscanf(name, "yield_%d", &a); k == 1 {
		return yields(a), 0
	}
	if k, _ := fmt.Sscanf(name, "spsc_cap%d", &c); k == 1 {
		return manyToMany(1, 1, c), 0
	}
	if k, _ := fmt.Sscanf(name, "mpmc_%dx%d_cap%d", &a, &b, &c); k == 3 {
		return manyToMany(a, b, c), 0
	}
	if k, _ := fmt.Sscanf(name, "ring_%d", &a); k == 1 {
		return ring(a), 0
	}
	return nil, 0
}

func main() {
	name := os.Args[1]
	runtime.GOMAXPROCS(argument("workers", 2))
	run, fixed := caseOf(name)
	if run == nil {
		fmt.Printf("{\"peer\":\"go\",\"case\":\"%s\",\"na\":true}\n", name)
		return
	}
	n, took := argument("n", fixed), time.Duration(0)
	for calibrate := n == 0; ; n *= 4 {
		if n == 0 {
			n = 5000
		}
		begin := time.Now()
		run(n)
		if took = time.Since(begin); !calibrate || took > 200*time.Millisecond {
			break
		}
	}
	fmt.Printf("{\"peer\":\"go\",\"case\":\"%s\",\"ops\":%d,\"ns_per_op\":%.2f,\"wall_s\":%.6f}\n",
		name, n, float64(took.Nanoseconds())/float64(n), took.Seconds())
}
