/* The scanner under a fuzzer, or on files: scans and settles a text, and holds it to what must be.

   With libFuzzer: -fsanitize=fuzzer,address,undefined. With -DFILES it has a `main` that takes the
   names of files. run.py builds both. Texts and arrays are allocated to the byte, so that
   the address sanitizer sees every step across an edge. */

#define SOURCE 0
#include "../../tflogscope/native/scanner.c"
#include "tables.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEEN = 64 }; /* few: strings take the places of others */

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void *zeros(u64 count, u64 size) {
    void *found = calloc(count ? count : 1, size);
    must(found != NULL, "memory");
    return found;
}

static output new_output(u64 rows, u64 strings) {
    u64 slots = 1;
    while (slots < 2 * strings) slots *= 2;
    return (output){
        .strings = {.entries = zeros(strings, sizeof(entry)), .slots = zeros(slots, sizeof(u32)),
                    .capacity = strings, .mask = slots - 1},
        .rows = zeros(rows, sizeof(row)), .row_capacity = rows,
        .seen = zeros(SEEN, sizeof(seen)), .seen_mask = SEEN - 1,
        .fields = zeros(strings, sizeof(u32)), .field_capacity = strings,
        .numbers = zeros(strings, sizeof(u32)),
        .classes = zeros(HOT + grammar.message_count, sizeof(u64)),
    };
}

static void free_output(output *o) {
    free(o->strings.entries), free(o->strings.slots), free(o->rows), free(o->fields);
    free(o->seen), free(o->numbers), free(o->classes);
}

/* Room for a text of this size, all of it in one go. */
static store new_store(u64 size) {
    u64 strings = size + 64, rows = size + 64, slots = 64;
    while (slots < 4 * strings) slots *= 2;
    store s = {.strings = {.entries = zeros(strings, sizeof(entry)),
                           .slots = zeros(slots, sizeof(u32)), .capacity = strings,
                           .mask = slots - 1},
               .fields = zeros(strings, sizeof(u32)), .field_capacity = strings,
               .open = zeros(slots, sizeof(opened)), .open_mask = slots - 1,
               .odds = zeros(4 * rows, sizeof(odd)), .odd_capacity = 4 * rows};
    for (u32 i = 0; i < TABLES; i++) {
        columns *c = &s.columns[i];
        s.arenas[i] = zeros(8 * size + 64, 1), s.arena_capacity[i] = 8 * size + 64;
        s.strings.texts[i] = s.arenas[i];
        c->capacity = rows, c->at = zeros(rows, 8), c->text = zeros(rows, 4);
        if (i == TENSORS || i == VERBOSE || i == NODES) c->number = zeros(rows, 8);
        if (i != TEXTS && i != NODES) continue;
        c->clock = zeros(rows, 4), c->micros = zeros(rows, 4), c->site = zeros(rows, 4);
        if (i != NODES) continue;
        c->end_at = zeros(rows, 8), c->end_clock = zeros(rows, 4);
        c->end_micros = zeros(rows, 4), c->end_site = zeros(rows, 4);
    }
    return s;
}

static void free_store(store *s) {
    for (u32 i = 0; i < TABLES; i++) {
        columns *c = &s->columns[i];
        free(s->arenas[i]), free(c->at), free(c->text), free(c->number), free(c->clock);
        free(c->micros), free(c->site), free(c->end_at), free(c->end_clock);
        free(c->end_micros), free(c->end_site);
    }
    free(s->strings.entries), free(s->strings.slots), free(s->fields), free(s->open), free(s->odds);
}

static void check(const store *s, u64 lines) {
    must(s->lines == lines, "all lines are settled");
    for (u32 i = 0; i < TABLES; i++) {
        const columns *c = &s->columns[i];
        for (u64 n = 0; n < c->used; n++) {
            must(c->at[n] >= 0 && c->at[n] / PLACES < (i64)lines, "a record is in a line");
            must(n == 0 || c->at[n] > c->at[n - 1], "records are in order, each in its own place");
            if (i != VERBOSE) must(c->text[n] < s->numbers[i], "a text is known");
            if (c->site) must(c->site[n] == NONE || c->site[n] < s->numbers[SITES], "a site is");
            if (c->end_at && c->end_at[n] >= 0) must(c->end_at[n] > c->at[n], "an end comes after");
        }
    }
    for (u64 n = 0; n < s->field_used; n++) must(s->fields[n] < s->numbers[VERBOSE], "a field is");
    for (u64 n = 0; n < s->odd_used; n++)
        must(s->odds[n].run < (i64)s->columns[NODES].used, "a run is known");
}

/* The first two bytes say how small the scanner's memory is, and where the text is cut in two. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size) {
    if (size < 2) return 0;
    u64 text_size = size - 2, cut = text_size ? text_size * data[1] / 256 : 0;
    u8 *text = zeros(text_size, 1);
    memcpy(text, data + 2, text_size);
    while (cut > 0 && text[cut - 1] != '\n') cut--;
    u64 strings = data[0] < 128 ? text_size + 1024 : 700 + data[0];
    output out = new_output(data[0] % 2 ? text_size + 64 : 32, strings);
    store s = new_store(text_size);
    tflogscope_is_plain(text, text_size, 1 + data[1]);
    u64 lines = 0, at = 0, ends[] = {cut, text_size};
    for (int part = 0; part < 2; part++)
        while (at < ends[part]) {
            u64 reached = tflogscope_scan(&grammar, text, text_size, at, ends[part], 0, &out);
            must(reached > at && reached <= text_size, "a scan goes on");
            u64 counted = 0;
            for (u32 i = 0; i < HOT + grammar.message_count; i++) counted += out.classes[i];
            must(counted == out.lines, "each line has one class");
            must(tflogscope_settle(&grammar, &out, text, &s) == 0, "there is room");
            lines += out.lines, at = reached;
            /* As Python does it, with what follows missing: it may stop, but not go too far. */
            reached = tflogscope_scan(&grammar, text, ends[part], at, ends[part], 1, &out);
            must(reached >= at && reached <= ends[part], "a scan stays inside");
        }
    check(&s, lines);
    tflogscope_index(memset(s.strings.slots, 0, (s.strings.mask + 1) * sizeof(u32)) ? &s.strings : NULL);
    opened *moved = zeros(s.open_mask + 1, sizeof(opened));
    tflogscope_move(s.open, s.open_mask + 1, moved, s.open_mask);
    free(moved), free(text), free_output(&out), free_store(&s);
    return 0;
}

#ifdef FILES
int main(int count, char **names) {
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(names[i], "rb");
        must(file != NULL, names[i]);
        fseek(file, 0, SEEK_END);
        size_t size = (size_t)ftell(file);
        u8 *data = zeros(size + 2, 1);
        rewind(file);
        must(fread(data + 2, 1, size, file) == size, names[i]);
        fclose(file);
        data[0] = (u8)i, data[1] = (u8)(37 * i);
        LLVMFuzzerTestOneInput(data, size + 2);
        free(data);
    }
    printf("%d files\n", count - 1);
}
#endif
