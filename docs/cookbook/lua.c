/* A Lua state for each fiber; a script can send to channels and wait. */
#include <assert.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <ccc/ccc.h>

cc_chan_type(Numbers, double);

/* send(number): parks the fiber if the channel is full, while other scripts run. */
static int lua_send(lua_State *lua)
{
	Numbers *out = lua_touserdata(lua, lua_upvalueindex(1));
	const int err = cc_send(*out, luaL_checknumber(lua, 1));

	lua_pushinteger(lua, err);
	return 1;
}

static cc_task_fn(run_script, const char *script; Numbers *out;)
{
	lua_State *lua = luaL_newstate();
	int failed;

	if (lua == NULL)
		return ENOMEM;
	luaL_openlibs(lua);
	lua_pushlightuserdata(lua, self->out);
	lua_pushcclosure(lua, lua_send, 1);
	lua_setglobal(lua, "send");
	failed = luaL_dostring(lua, self->script);
	lua_close(lua);
	return failed ? EINVAL : 0;
}

int main(void)
{
	/* Lua calls C, and C calls Lua: more stack than the default, to be safe. */
	const CCNurseryOptions scripts = {.stack_size = 1 << 20};
	Numbers numbers = cc_chan_make(Numbers, 0);
	double sum = 0, v;
	int err = 0;

	cc_nursery_scope_with(n, &err, &scripts) {
		if (cc_nursery_autoclose(n, numbers.chan) != 0)
			return 1;
		cc_spawn(n, run_script, "for i = 1, 10 do send(i) end", &numbers);
		cc_spawn(n, run_script, "for i = 11, 20 do send(i) end", &numbers);
		cc_nursery_seal(n);
		while (cc_recv(numbers, &v) == 0)
			sum += v;
	}
	assert(err == 0 && sum == 210);
	cc_free(numbers);
	return 0;
}
