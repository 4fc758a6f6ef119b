/* trace_json.c - see trace_json.h. */
#include "monitor/trace_json.h"

static void begin_line(struct cc__trace_json *j, const char *phase, struct cc__trace_track track)
{
	cc__text_add(&j->text, j->lines++ > 0 ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	cc__text_add(&j->text, phase);
	cc__text_add(&j->text, "\",\"pid\":");
	cc__text_add_number(&j->text, track.process);
	cc__text_add(&j->text, ",\"tid\":");
	cc__text_add_number(&j->text, track.thread);
}

static void add_json_time(struct cc__trace_json *j, const char *key, uint64_t time)
{
	cc__text_add(&j->text, key);
	cc__text_add_time(&j->text, time);
}

static void add_name(struct cc__trace_json *j, const char *name)
{
	cc__text_add(&j->text, ",\"name\":\"");
	cc__text_add_name(&j->text, name, SIZE_MAX);
	cc__text_add(&j->text, "\"");
}

void cc__json_slice(struct cc__trace_json *j, struct cc__trace_track track, const char *name,
                    const char *category, uint64_t since, uint64_t until)
{
	begin_line(j, "X", track);
	add_json_time(j, ",\"ts\":", since - j->begin);
	add_json_time(j, ",\"dur\":", until - since);
	add_name(j, name);
	cc__text_add(&j->text, ",\"cat\":\"");
	cc__text_add(&j->text, category);
	cc__text_add(&j->text, "\",\"args\":{\"since_ns\":");
	cc__text_add_number(&j->text, since - j->begin);
}

void cc__json_instant(struct cc__trace_json *j, struct cc__trace_track track, const char *name,
                      uint64_t time)
{
	begin_line(j, "i", track);
	add_json_time(j, ",\"s\":\"t\",\"ts\":", time - j->begin);
	add_name(j, name);
	cc__text_add(&j->text, ",\"args\":{\"since_ns\":");
	cc__text_add_number(&j->text, time - j->begin);
}

void cc__json_number(struct cc__trace_json *j, const char *key, uint64_t value)
{
	cc__text_add(&j->text, ",\"");
	cc__text_add(&j->text, key);
	cc__text_add(&j->text, "\":");
	cc__text_add_number(&j->text, value);
}

void cc__json_address(struct cc__trace_json *j, const char *key, uint64_t value)
{
	cc__text_add(&j->text, ",\"");
	cc__text_add(&j->text, key);
	cc__text_add(&j->text, "\":\"");
	cc__text_add_hex(&j->text, value);
	cc__text_add(&j->text, "\"");
}

void cc__json_string(struct cc__trace_json *j, const char *key, const char *value)
{
	cc__text_add(&j->text, ",\"");
	cc__text_add(&j->text, key);
	cc__text_add(&j->text, "\":\"");
	cc__text_add_name(&j->text, value, SIZE_MAX);
	cc__text_add(&j->text, "\"");
}

void cc__json_end(struct cc__trace_json *j)
{
	cc__text_add(&j->text, "}}");
}

void cc__json_track(struct cc__trace_json *j, struct cc__trace_track track, const char *words,
                    size_t size, uint64_t number)
{
	begin_line(j, "M", track);
	cc__text_add(&j->text, ",\"name\":\"thread_name\",\"args\":{\"name\":\"");
	cc__text_add_name(&j->text, words, size);
	cc__text_add(&j->text, " ");
	cc__text_add_number(&j->text, number);
	cc__text_add(&j->text, "\"}}");
}

void cc__json_process(struct cc__trace_json *j, unsigned process, const char *name)
{
	begin_line(j, "M", (struct cc__trace_track){process, 0});
	cc__text_add(&j->text, ",\"name\":\"process_name\",\"args\":{\"name\":\"");
	cc__text_add(&j->text, name);
	cc__text_add(&j->text, "\"}}");
}

static void flow_end(struct cc__trace_json *j, const char *phase, struct cc__trace_track track,
                     uint64_t time)
{
	begin_line(j, phase, track);
	add_json_time(j, ",\"ts\":", time - j->begin);
	cc__text_add(&j->text, ",\"name\":\"wake\",\"cat\":\"wake\",\"id\":");
	cc__text_add_number(&j->text, j->flows);
	cc__text_add(&j->text, *phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

void cc__json_flow(struct cc__trace_json *j, struct cc__trace_track from, uint64_t from_time,
                   struct cc__trace_track to, uint64_t to_time)
{
	j->flows++;
	flow_end(j, "s", from, from_time);
	flow_end(j, "f", to, to_time);
}
