/* json.c - one object a line: runtimes, workers, nurseries, fibers and threads. */
#include <inttypes.h>
#include <stdlib.h>

#include "view.h"

static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~' || *text == '"' || *text == '\\')
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, out);
	fputc('"', out);
}

static void put_place(const struct view *v, const char *key, uint64_t place)
{
	char name[64], line[200];

	text_place(v, place, name, sizeof name, line, sizeof line);
	if (line[0] == '\0')
		return;
	fprintf(v->out, ",\"%s\":", key);
	put_string(v->out, line);
}

/* The name alone: quotes are of the text. */
static void put_name(const struct view *v, const struct fiber *f)
{
	char name[64], line[8];

	text_place(v, f->name[0] == '\0' && f->id != 0 ? f->place : 0, name, sizeof name, line,
	           sizeof line);
	put_string(v->out, f->name[0] != '\0' ? f->name : name);
}

static void put_process(const struct view *v)
{
	fputs("{\"kind\":\"process\",\"title\":", v->out);
	put_string(v->out, v->title);
	fputs(",\"library\":", v->out);
	put_string(v->out, v->l->library);
	fprintf(v->out, ",\"fibers\":%zu,\"threads\":%zu,\"nurseries\":%zu,\"incomplete\":%s}\n",
	        v->s->fibers, v->s->threads, v->s->nurseries, v->s->incomplete ? "true" : "false");
}

static void put_runtimes(const struct view *v)
{
	for (size_t i = 0; i < v->s->runtimes; i++) {
		const struct runtime *t = &v->s->runtime[i];

		fprintf(v->out, "{\"kind\":\"runtime\",\"address\":\"0x%" PRIx64 "\",\"workers\":%u,\"stacks\":%"
		        PRIu64 ",\"global\":%" PRIu64 ",\"stopping\":%s}\n", t->address, t->workers,
		        t->stacks, t->global, t->stopping ? "true" : "false");
	}
	for (size_t i = 0; i < v->s->workers; i++) {
		static const char *const lives[] = {"active", "search", "sleep", "draining", "dead"};
		const struct worker *w = &v->s->worker[i];

		fprintf(v->out, "{\"kind\":\"worker\",\"runtime\":\"0x%" PRIx64 "\",\"id\":%u,\"life\":\"%s\","
		        "\"running\":%" PRIu64 ",\"queued\":%" PRIu64 ",\"inbox\":%" PRIu64 ",\"picks\":%"
		        PRIu64 ",\"stuck\":%s}\n", w->runtime, w->id, lives[w->life < 5 ? w->life : 0],
		        w->running, w->queued, w->inbox, w->picks, w->stuck ? "true" : "false");
	}
}

static void put_nurseries(const struct view *v)
{
	static const char *const policies[] = {"fail_fast", "supervise", "first_success"};

	for (size_t i = 0; i < v->s->nurseries; i++) {
		const struct nursery *n = &v->s->nursery[i];

		fprintf(v->out, "{\"kind\":\"nursery\",\"address\":\"0x%" PRIx64 "\",\"owner\":%" PRIu64
		        ",\"policy\":\"%s\",\"children\":%" PRIu64 ",\"sealed\":%s,\"cancelled\":%s,"
		        "\"error\":%d", n->address, n->owner_id, policies[n->policy], n->children,
		        n->sealed ? "true" : "false", n->cancelled ? "true" : "false", n->error);
		put_place(v, "made_at", n->place);
		fputs("}\n", v->out);
	}
}

static void put_fiber(const struct view *v, const struct group *g)
{
	const struct fiber *f = g->first;

	fprintf(v->out, "{\"kind\":\"%s\",\"id\":%" PRIu64 ",\"name\":", f->id != 0 ? "fiber" : "thread",
	        f->id);
	put_name(v, f);
	fprintf(v->out, ",\"state\":\"%s\",\"wait\":\"%s\",\"object\":\"0x%" PRIx64 "\",\"task\":%" PRIu64
	        ",\"nursery\":\"0x%" PRIx64 "\",\"function\":\"0x%" PRIx64 "\",\"since_ns\":%lld",
	        text_state(f), wait_names[f->wait], f->object, f->task, f->nursery, f->function,
	        f->since == NO_TIME ? -1LL : (long long)(v->s->now - f->since));
	if (f->deadline != NEVER)
		fprintf(v->out, ",\"deadline_ns\":%lld", (long long)(f->deadline - v->s->now));
	fprintf(v->out, ",\"worker\":%u,\"daemon\":%s", f->worker, f->daemon ? "true" : "false");
	if (f->function != 0 && v->symbols != NULL) {
		fputs(",\"runs\":", v->out);
		put_string(v->out, symbols_name(v->symbols, f->function, false));
	}
	put_place(v, "spawned_at", f->place);
	if (v->stacks) {
		fputs(",\"stack\":[", v->out);
		for (unsigned i = 0; i < g->frames; i++) {
			fputs(i > 0 ? "," : "", v->out);
			put_string(v->out, symbols_name(v->symbols, g->pc[i], true));
		}
		fputs("]", v->out);
	}
	fprintf(v->out, ",\"count\":%" PRIu64 "}\n", g->count);
}

void view_json(const struct view *v)
{
	const size_t count = v->s->fibers + v->s->threads;
	const struct fiber **all = calloc(count + 1, sizeof *all);
	struct groups g;

	put_process(v);
	put_runtimes(v);
	put_nurseries(v);
	for (size_t i = 0; all != NULL && i < count; i++)
		all[i] = &v->s->fiber[i];
	if (all != NULL && groups_make(&g, v, all, count, v->stacks)) {
		for (size_t i = 0; i < g.count; i++)
			put_fiber(v, &g.group[i]);
		groups_free(&g);
	}
	free(all);
}
