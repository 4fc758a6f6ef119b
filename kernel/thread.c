/* thread.c - a queue, a worker, and what src/wait leaves to a scheduler. */
#include "thread.h"

#include "kernel.h"
#include "os/fork.h"
#include "page.h"
#include "process.h"
#include "timer.h"
#include "wait/thread.h"

void switch_stacks(void **from, void *to);
void trap_return(void);

static struct thread threads[THREADS_MAX];

static struct thread *thread_of(struct cc__parker *p)
{
	return (struct thread *)(void *)p;
}

/* ---- the queue ---- */

static struct thread *queue, **queue_end = &queue;

static void append(struct thread *t)
{
	t->next = NULL;
	*queue_end = t;
	queue_end = &t->next;
}

static struct thread *take(void)
{
	struct thread *t = queue;

	if (t != NULL && (queue = t->next) == NULL)
		queue_end = &queue;
	return t;
}

bool thread_others(void)
{
	return queue != NULL;
}

/* ---- the worker ---- */

static struct {
	struct cc__thread *record;	/* what the processor is to src/wait: an OS thread */
	void *sp;			/* where the worker left off, while a thread runs */
	struct thread *runs;		/* NULL: the worker itself */
	cc__a32 asleep;			/* 1: it sleeps on this word (T3) */
	uint64_t naps;			/* so often */
} worker;

struct thread *thread_self(void)
{
	return worker.runs;
}

uint64_t worker_naps(void)
{
	return worker.naps;
}

static void end(struct thread *t)
{
	struct process *p = t->process;

	cc__word_done(&t->parker);
	page_put(t->stack, THREAD_STACK_PAGES);
	cc__strand_free(t->strand);
	t->process = NULL;
	cc__word_recycle(&t->parker);
	process_left(p);
}

/* t has left, and this is another stack: the words of word.h's rows. */
static void settle(struct thread *t)
{
	switch (t->leaving) {
	case PARKS:
		if (cc__word_commit(&t->parker))
			return;
		cc__word_requeue(&t->parker);
		append(t);
		return;
	case YIELDS:
		cc__word_yield(&t->parker);
		append(t);
		return;
	case ENDS:
		end(t);
	}
}

static void run(struct thread *t)
{
	cc__word_claim(&t->parker, 1);
	worker.runs = t;
	cc__set_running(worker.record, &t->parker);
	cpu_use_stack((char *)t->stack + THREAD_STACK_PAGES * PAGE_SIZE);
	process_use(t->process);
	switch_stacks(&worker.sp, t->sp);
	/* Its last word was zero (G3), and nobody has come so far. */
	CC__CHECK(*(const uint64_t *)t->stack == 0, "thread: its kernel stack is too small");
	worker.runs = NULL;
	cc__set_running(worker.record, &worker.record->parker);
	settle(t);
}

static bool somebody_has_a_deadline(void)
{
	for (unsigned i = 0; i < THREADS_MAX; i++)
		if (threads[i].deadline != CC_FOREVER && threads[i].process != NULL)
			return true;
	return false;
}

/* Interrupts are off until the processor halts, so nobody is queued between the look at the
 * queue and the sleep: there is no generation to compare. */
static void nap(void)
{
	CC__CHECK(somebody_has_a_deadline(), "everybody sleeps and nothing will wake them");
	worker.naps++;
	/* Relaxed, here and in cc__schedule: one processor. */
	cc__store(&worker.asleep, 1, CC__RELAXED);
	while (cc__load(&worker.asleep, CC__RELAXED) != 0)
		cc__futex_wait(&worker.asleep, 1, CC_FOREVER);
}

_Noreturn void worker_run(void)
{
	worker.record = cc__thread_self();
	CC__CHECK(worker.record != NULL, "no memory for the worker");
	for (;;) {
		struct thread *t = take();

		if (t != NULL)
			run(t);
		else
			nap();
	}
}

/* ---- what src/wait asks for ---- */

void cc__schedule(struct cc__parker *p)
{
	append(thread_of(p));
	if (cc__load(&worker.asleep, CC__RELAXED) == 0)
		return;
	cc__store(&worker.asleep, 0, CC__RELAXED);
	cc__futex_wake(&worker.asleep, 1);
}

static void leave(struct thread *t, int how)
{
	t->leaving = how;
	switch_stacks(&t->sp, worker.sp);
}

void cc__switch_away(struct cc__parker *p, uint64_t ticket, cc_time deadline)
{
	struct thread *t = thread_of(p);

	t->ticket = ticket;
	t->deadline = deadline;
	leave(t, PARKS);
	t->deadline = CC_FOREVER;
}

struct cc__wait_context cc__wait_context(uintptr_t *domain)
{
	struct cc__parker *p = cc__self();

	if (domain != NULL)
		cc__domain_note(domain, 0);
	if (p == &worker.record->parker)
		return (struct cc__wait_context){.waiter = &worker.record->waiter};
	return (struct cc__wait_context){
	    .waiter = &thread_of(p)->waiter,
	    .cancel = cc__member_flag(&thread_of(p)->member),
	};
}

/* A process has no bells: all its waits are on words of src/wait. */
void cc__poll_ring(struct cc__bell *bell)
{
	(void)bell;
	CC__UNREACHABLE("thread: a bell");
}

/* There is no fork here: the word only counts cancelled scopes. */
static cc__a32 mark = {1};
struct cc__fork_mark cc__fork_mark = {{&mark}};

void thread_expire(cc_time now)
{
	/* A deadline was set from a clock that may have been a tick behind (timer.h). */
	for (unsigned i = 0; i < THREADS_MAX; i++)
		if (threads[i].process != NULL && threads[i].deadline <= now - TIMER_TICK) {
			threads[i].deadline = CC_FOREVER;
			cc__fiber_wake(&threads[i].parker, threads[i].ticket);
		}
}

/* ---- threads ---- */

static struct thread *unused(void)
{
	for (unsigned i = 0; i < THREADS_MAX; i++)
		if (threads[i].process == NULL)
			return &threads[i];
	return NULL;
}

/* As if it had come in from user code at `ip`, and switched away since. */
static void *first_stack(void *stack, uint64_t ip, uint64_t sp, uint64_t a, uint64_t b)
{
	struct start {
		uint64_t registers[6];
		void (*to)(void);
		struct frame frame;
	} *s = (struct start *)(void *)((char *)stack + THREAD_STACK_PAGES * PAGE_SIZE) - 1;

	s->to = trap_return;
	s->frame = (struct frame){.di = a, .si = b, .ip = ip, .sp = sp, .cs = CPU_USER_CODE,
	                          .ss = CPU_USER_DATA, .flags = CPU_FLAGS_USER};
	return s;
}

int thread_new(struct process *p, uint64_t ip, uint64_t sp, uint64_t a, uint64_t b, uint32_t *id)
{
	struct thread *t = unused();
	int err = EAGAIN;

	if (ip >= PAGE_USER_END || sp >= PAGE_USER_END)
		return EINVAL;		/* the way back to user code would be a fault of ours */
	if (t == NULL || (t->strand = cc__strand_join(&p->strands, &err)) == NULL)
		return err;
	if ((t->stack = page_get(THREAD_STACK_PAGES)) == NULL) {
		cc__strand_end(&p->strands, cc__strand_id(t->strand));
		cc__strand_free(t->strand);
		return ENOMEM;
	}
	cc__word_assign(&t->parker);
	t->waiter.who = &t->parker;
	t->process = p;
	p->threads++;
	t->deadline = CC_FOREVER;
	t->scopes = NULL;
	t->sp = first_stack(t->stack, ip, sp, a, b);
	cc__member_enter(&t->member, &p->scope, &t->parker, &t->scopes);
	if (id != NULL)
		*id = cc__strand_id(t->strand);
	cc__word_publish(&t->parker);
	cc__schedule(&t->parker);
	return 0;
}

void thread_yield(void)
{
	leave(worker.runs, YIELDS);
}

_Noreturn void thread_end(void)
{
	struct thread *t = worker.runs;

	cc__capring_strand_end(&t->process->ring, cc__strand_id(t->strand));
	cc__member_leave(&t->member, &t->scopes);
	leave(t, ENDS);
	CC__UNREACHABLE("thread: ran after its end");
}

unsigned threads_asleep(const struct process *p)
{
	unsigned count = 0;

	for (unsigned i = 0; i < THREADS_MAX; i++)
		/* Relaxed: one processor. */
		count += threads[i].process == p &&
		         cc__word_state(cc__load(&threads[i].parker.word, CC__RELAXED)) == CC__PARKED;
	return count;
}
