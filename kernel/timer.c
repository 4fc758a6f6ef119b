/* timer.c - the interval timer, and the controller that its interrupt comes through. */
#include "timer.h"

#include "cpu.h"
#include "thread.h"

enum {
	PIC = 0x20,			/* of interrupts 0 to 7 */
	PIC_SECOND = 0xa0,		/* of 8 to 15 */
	PIC_DATA = 1,
	PIC_START = 0x11,
	PIC_DONE = 0x20,
	PIT_DATA = 0x40,
	PIT_CONTROL = 0x43,
	PIT_PERIODIC = 0x34,
	PIT_HERTZ = 1193182,
};

/* At 0 nothing happens yet: no time is CC_NOW. */
static uint64_t ticks = 1;

static void controller_start(uint16_t port, uint8_t vector, uint8_t wiring, uint8_t off)
{
	const uint16_t data = (uint16_t)(port + PIC_DATA);

	cpu_out(port, PIC_START);
	cpu_out(data, vector);
	cpu_out(data, wiring);
	cpu_out(data, 1);
	cpu_out(data, off);
}

void timer_start(void)
{
	const unsigned period = (unsigned)(PIT_HERTZ / (CC_SEC / TIMER_TICK));

	controller_start(PIC, CPU_FIRST_INTERRUPT, 1 << 2, 0xfe);
	controller_start(PIC_SECOND, CPU_FIRST_INTERRUPT + 8, 2, 0xff);
	cpu_out(PIT_CONTROL, PIT_PERIODIC);
	cpu_out(PIT_DATA, period & 0xff);
	cpu_out(PIT_DATA, period >> 8);
}

void timer_tick(void)
{
	cpu_out(PIC, PIC_DONE);
	ticks++;
	thread_expire(timer_now());
}

cc_time timer_now(void)
{
	return (cc_time)ticks * TIMER_TICK;
}

uint64_t timer_ticks(void)
{
	return ticks;
}
