// idle.go - the cases of bench/idle.c in Go: how soon a goroutine starts behind one that
// computes, and what a request a millisecond costs.  `idle CASE [n=N] [gap=US] [talk=MS]
// [workers=N]` prints the figures as one line of JSON.
package main

import (
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func argument(name string, otherwise int) int {
	for _, word := range os.Args[2:] {
		if strings.HasPrefix(word, name+"=") {
			n, err := strconv.Atoi(strings.TrimPrefix(word, name+"="))
			if err != nil {
				panic(err)
			}
			return n
		}
	}
	return otherwise
}

func computeFor(span time.Duration) {
	for end := time.Now().Add(span); time.Now().Before(end); {
	}
}

// Two goroutines, this one and another, and a channel of 16 between them.
func talkFor(span time.Duration) {
	words := make(chan int, 16)
	done := make(chan bool)
	go func() {
		for range words {
		}
		close(done)
	}()
	for end := time.Now().Add(span); time.Now().Before(end); {
		words <- 1
	}
	close(words)
	<-done
}

func startDelay(name string) {
	ms, err := strconv.Atoi(strings.TrimPrefix(name, "start_delay_"))
	if err != nil {
		panic(err)
	}
	span := time.Duration(ms) * time.Millisecond
	talk := time.Duration(argument("talk", 0)) * time.Millisecond
	gap := time.Duration(argument("gap", 4000)) * time.Microsecond
	n := int(2 * time.Second / (gap + span))
	if talk != 0 {
		n = 30
	}
	n = argument("n", n)
	delays := make([]time.Duration, n)
	for i := range delays {
		begun := make(chan time.Time, 1)
		if talk != 0 {
			talkFor(talk)
		} else {
			computeFor(gap)
		}
		spawned := time.Now()
		go func() { begun <- time.Now() }()
		computeFor(span)
		delays[i] = (<-begun).Sub(spawned)
	}
	sort.Slice(delays, func(a, b int) bool { return delays[a] < delays[b] })
	part := func(p float64) int64 { return delays[int(float64(n-1)*p)].Microseconds() }
	fmt.Printf("{\"case\":\"%s\",\"delay_p50_us\":%d,\"delay_p90_us\":%d,\"delay_p99_us\":%d,\"talk_ms\":%d}\n",
		name, part(0.5), part(0.9), part(0.99), talk.Milliseconds())
}

func cpu() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return (usage.Utime.Sec+usage.Stime.Sec)*1000000 + usage.Utime.Usec + usage.Stime.Usec
}

// Descriptor 3 is a socket; the client (client.c) asks a byte and waits for one.
func lightLoad() {
	conn, err := net.FileConn(os.NewFile(3, "client"))
	if err != nil {
		panic(err)
	}
	before, requests := cpu(), 0
	done := make(chan bool)
	go func() {
		word := make([]byte, 1)
		for {
			if _, err := conn.Read(word); err == io.EOF {
				break
			} else if err != nil {
				panic(err)
			}
			if _, err := conn.Write(word); err != nil {
				panic(err)
			}
			requests++
		}
		close(done)
	}()
	<-done
	fmt.Printf("{\"case\":\"light_load\",\"ops\":%d,\"cpu_us_per_request\":%.2f}\n", requests,
		float64(cpu()-before)/float64(requests))
}

// 1,000 goroutines that sleep 1 to 100 ms: by how much does each oversleep?
func timers1k() {
	const n = 1000
	over := make([]time.Duration, n)
	random := rand.New(rand.NewSource(1))
	var all sync.WaitGroup
	before, begin := cpu(), time.Now()
	for i := range over {
		length, i := time.Duration(1+random.Intn(100))*time.Millisecond, i
		all.Add(1)
		go func() {
			deadline := time.Now().Add(length)
			time.Sleep(length)
			over[i] = time.Since(deadline)
			all.Done()
		}()
	}
	all.Wait()
	used, wall := cpu()-before, time.Since(begin)
	sort.Slice(over, func(a, b int) bool { return over[a] < over[b] })
	part := func(p float64) int64 { return over[int(float64(n-1)*p)].Microseconds() }
	fmt.Printf("{\"case\":\"timers_1k\",\"ops\":%d,\"wall_s\":%.6f,\"cpu_us\":%d,\"over_p50_us\":%d,"+
		"\"over_p99_us\":%d,\"over_max_us\":%d}\n", n, wall.Seconds(), used, part(0.5), part(0.99), part(1))
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: idle CASE [n=N] [gap=US] [talk=MS] [workers=N]")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(argument("workers", runtime.NumCPU()))
	switch os.Args[1] {
	case "light_load":
		lightLoad()
	case "timers_1k":
		timers1k()
	default:
		startDelay(os.Args[1])
	}
}
