/* stack_use.c - how much stack library calls need, for the table in docs/stacks.md.
 *
 * Each case runs in a fiber of its own, on a fresh stack of 64 MB; afterwards mincore tells how many
 * of its pages were touched.  Builds and runs by tests/stack_use/run; needs Debian's -dev packages. */
#define _GNU_SOURCE
#include <ccc/ccc.h>

#include <curl/curl.h>
#include <float.h>
#include <jansson.h>
#include <lauxlib.h>
#include <libxml/parser.h>
#include <lualib.h>
#include <netdb.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <regex.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

/* ---- inputs ---- */

static char *repeat(const char *text, int times)
{
	const size_t length = strlen(text);
	char *all = malloc(length * (size_t)times + 1);

	for (int i = 0; i < times; i++)
		memcpy(all + length * (size_t)i, text, length);
	all[length * (size_t)times] = '\0';
	return all;
}

/* open ... middle ... close */
static char *nested(const char *open, const char *middle, const char *close, int depth)
{
	char *all;

	if (asprintf(&all, "%s%s%s", repeat(open, depth), middle, repeat(close, depth)) < 0)
		abort();
	return all;
}

/* ---- the cases; each returns whether it worked ---- */

static int nothing(void)
{
	return 1;
}

static int print_doubles(void)
{
	char *text = malloc(70000);

	return snprintf(text, 70000, "%.17g %f %.5000Lf", 1.0 / 3, DBL_MAX, LDBL_MAX) > 9000;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int sort(void)
{
	int *v = malloc(1000000 * sizeof *v);

	for (int i = 0; i < 1000000; i++)
		v[i] = rand();
	qsort(v, 1000000, sizeof *v, compare);
	return 1;
}

static int resolve(void)
{
	struct addrinfo *a = NULL;

	return getaddrinfo("localhost", "80", NULL, &a) == 0;
}

static int posix_regex(const char *pattern)
{
	regex_t r;

	return regcomp(&r, pattern, REG_EXTENDED) == 0 && regexec(&r, repeat("a", 1000), 0, NULL, 0) >= 0;
}

static int regex_plain(void)
{
	return posix_regex("^([a-z]+)[0-9]*(x|y|z)?$");
}

static int regex_nested(void)
{
	return posix_regex(nested("(a|", "b", ")", 200));
}

static int pcre2_plain(void)
{
	int error;
	PCRE2_SIZE at;
	pcre2_code *c = pcre2_compile((PCRE2_SPTR)nested("(a|", "b", ")", 200), PCRE2_ZERO_TERMINATED, 0,
	                              &error, &at, NULL);

	return c != NULL && pcre2_match(c, (PCRE2_SPTR)repeat("a", 10000), 10000, 0, 0,
	                                pcre2_match_data_create_from_pattern(c, NULL), NULL) != 0;
}

static int json(int depth)
{
	json_t *j = json_loads(nested("[", "", "]", depth), 0, NULL);

	return j != NULL && json_dumps(j, 0) != NULL;
}

static int json_shallow(void)
{
	return json(20);
}

static int json_deep(void)
{
	return json(2047);
}

static int xml(int depth, int options)
{
	char *text = nested("<a>", "x", "</a>", depth);

	return xmlReadMemory(text, (int)strlen(text), "x", NULL, options) != NULL;
}

static int xml_default(void)
{
	return xml(250, 0);
}

static int xml_huge(void)
{
	return xml(2000, XML_PARSE_HUGE);
}

static int sql(const char *text)
{
	sqlite3 *db;

	return sqlite3_open(":memory:", &db) == 0 && sqlite3_exec(db, text, NULL, NULL, NULL) == 0;
}

static int sql_plain(void)
{
	return sql("create table t(a integer primary key, b text); with recursive c(x) as (select 1 union all "
	           "select x + 1 from c where x < 1000) insert into t select x, hex(randomblob(50)) from c; "
	           "create index i on t(b); select count(*), sum(a) from t join t t2 using(a) where t.b like "
	           "'%A%' group by substr(t.b, 1, 1) order by 2");
}

static int sql_expression(void)
{
	return sql(nested("", "select 1", "+1", 998));
}

static int sql_conditions(void)
{
	return sql(nested("", "create table t(a); select * from t where a = 1", " or a = 1 and (a = 3)", 990));
}

static int sql_triggers(void)
{
	return sql("pragma recursive_triggers = on; create table t(a); create trigger g after insert on t when "
	           "new.a < 950 begin insert into t values(new.a + 1); end; insert into t values(1)");
}

static int lua(const char *text)
{
	lua_State *l = luaL_newstate();

	luaL_openlibs(l);
	return luaL_dostring(l, text) == 0;
}

static int lua_plain(void)
{
	return lua("local t = {} for i = 1, 1000 do t[i] = i * i end table.sort(t, function(a, b) return a > b end) "
	           "return string.format('%g', t[1])");
}

/* 190 C calls inside of each other; Lua allows 200. */
static int lua_nested(void)
{
	return lua("local function f(n) if n > 0 then string.gsub('x', 'x', function() f(n - 1) end) end end f(90)");
}

static int compress_megabyte(void)
{
	uLong n = 1 << 20, size = 2 << 20;
	Bytef *in = calloc(1, n), *out = malloc(size);

	return compress2(out, &size, in, n, 9) == 0 && uncompress(in, &n, out, size) == 0;
}

static int rsa_key(void)
{
	return EVP_RSA_gen(2048) != NULL;
}

static int tls_context(void)
{
	SSL_CTX *c = SSL_CTX_new(TLS_method());

	return c != NULL && SSL_CTX_set_default_verify_paths(c) == 1;
}

static int curl_file(void)
{
	CURL *c;

	if (curl_global_init(CURL_GLOBAL_ALL) != 0 || (c = curl_easy_init()) == NULL)
		return 0;
	curl_easy_setopt(c, CURLOPT_URL, "file:///etc/hostname");
	curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	return curl_easy_perform(c) == 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
    {"nothing", nothing},
    {"snprintf of doubles, %.5000Lf", print_doubles},
    {"qsort, a million", sort},
    {"getaddrinfo", resolve},
    {"regcomp, regexec", regex_plain},
    {"regcomp of 200 nested groups", regex_nested},
    {"PCRE2, 200 nested groups", pcre2_plain},
    {"jansson, 20 levels", json_shallow},
    {"jansson, 2,047 levels (its limit: 2,048)", json_deep},
    {"libxml2, 250 levels (its limit: 256)", xml_default},
    {"libxml2, 2,000 levels with XML_PARSE_HUGE", xml_huge},
    {"SQLite, ordinary statements", sql_plain},
    {"SQLite, expression of 998 terms (limit: 1,000)", sql_expression},
    {"SQLite, 990 conditions", sql_conditions},
    {"SQLite, triggers 950 deep (limit: 1,000)", sql_triggers},
    {"Lua, ordinary script", lua_plain},
    {"Lua, 90 nested callbacks from C", lua_nested},
    {"zlib, a megabyte at level 9", compress_megabyte},
    {"OpenSSL, RSA key of 2,048 bits", rsa_key},
    {"OpenSSL, TLS context with the system's roots", tls_context},
    {"libcurl, file://", curl_file},
};

/* ---- measuring ---- */

struct me {
	uint64_t id;
	CCFiberInfo info;
};

static int find_me(const CCFiberInfo *info, void *arg)
{
	struct me *me = arg;

	if (info->id != me->id)
		return 0;
	me->info = *info;
	return 1;
}

/* KB of the calling fiber's stack from its top to the lowest page that was touched. */
static size_t used(void)
{
	static unsigned char pages[64 << 20 >> 12];
	struct me me = {.id = cc_fiber_id()};
	size_t untouched = 0, count;

	cc_fiber_each(find_me, &me);
	count = me.info.stack_size / 4096;
	if (mincore((void *)(uintptr_t)me.info.stack, me.info.stack_size, pages) != 0)
		return 0;
	while (untouched < count && !(pages[untouched] & 1))
		untouched++;
	return (count - untouched) * 4;
}

static int measure(void *arg)
{
	const size_t i = *(size_t *)arg;
	const int worked = cases[i].run();

	printf("| %s | %zu KB |%s\n", cases[i].name, used(), worked ? "" : " FAILED");
	return worked ? 0 : 1;
}

/* One case a process, so that its stack is fresh and lazy binding counts. */
int main(int count, char **arguments)
{
	size_t i = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
	int result = 1;
	CCTask t;

	if (i >= sizeof cases / sizeof *cases)
		return 77;
	if (cc_task_spawn(NULL, &t, &(CCTaskOptions){.stack_size = 64 << 20}, measure, &i) != 0 ||
	    cc_task_join(t, CC_FOREVER, &result) != 0)
		return 2;
	return result;
}
