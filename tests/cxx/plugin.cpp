// plugin.cpp - a shared object of C++ that a C program opens while fibers run.  With WITH_HEADERS
// it knows libccc and its runtime registers itself.
#ifdef WITH_HEADERS
#include <ccc/ccc.h>
#endif

#include <exception>

struct trouble {
	long id;
};

// Calls `wait` inside a catch block.  How much was wrong afterwards.
extern "C" int handles(long id, void (*wait)(void))
{
	int wrong = 0;

	for (int i = 0; i < 20; i++)
		try {
			try {
				throw trouble{id + i};
			} catch (const trouble &t) {
				wait();
				wrong += t.id != id + i || !std::current_exception();
				throw;
			}
		} catch (const trouble &t) {
			wrong += t.id != id + i;
		}
	return wrong + (std::uncaught_exceptions() != 0);
}
