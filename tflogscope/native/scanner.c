/* The scanner: a block of lines becomes rows of numbers and the distinct strings in it.

   `scan` keeps no state, so several threads can scan several blocks. `settle` then takes these in
   the order of the log: it numbers their strings through the whole log, pairs starts with ends,
   and appends to the log's columns. What is known of logs is in `tables`, which compiled.py makes
   of grammars/: how a record begins (dialects), which files are covered, how hot messages read
   (steps). A line with another writer's text in it is torn: its pieces are looked at one by one.
   All memory is the caller's. No read leaves the text, and no count passes its capacity: `scan`
   stops before a line for which there may not be room, `settle` does nothing. tests/twin.py says
   the same in Python, and the tests hold the two to be equal. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

__extension__ typedef unsigned __int128 u128;

const u32 tflogscope_source = SOURCE; /* the checksum of this file, from the build */

/* Two hashes depend on these; each process puts its own random numbers here before it scans. So
   nobody can write a log whose strings collide: here are four beginnings, four factors for each. */
u64 tflogscope_keys[2][8] = {
    {0x9E3779B97F4A7C15u, 0x165667B19E3779F9u, 0xC2B2AE3D27D4EB4Fu, 0x27D4EB2F165667C5u,
     0xA0761D6478BD642Fu, 0xE7037ED1A0B428DBu, 0x8EBC6AF09C88C6E3u, 0x589965CC75374CC3u},
    {0xD1B54A32D192ED03u, 0xABC98388FB8FAC03u, 0x8CB92BA72F3D8DD7u, 0x2127599BF4325C37u,
     0x1D8E4E27C47D124Fu, 0xEB44ACCAB455D165u, 0xDA942042E4DD58B5u, 0x9C06FAF4D023E3ABu}};

#define NONE UINT32_MAX
enum { PLACES = 16, FIELDS = 32, AHEAD = 4, DIALECTS = 8, SHAPE = 48, RECENT = 4 };

/* ---- what the grammar says ----------------------------------------------------------------- */

typedef struct { u32 first, count; } range;

/* A template as steps. FIND and LAST pass what is before the first or last literal, SPAN all bytes
   that are in the literal. What does not fit ends the match, except inside an OPTIONAL. */
enum { LITERAL, UINT, INT, FIND, LAST, SPAN, KEEP, KEPT, OPTIONAL, END };
/* What a step passes may be: the number of a row; a part of the key that a start and its end have
   in common; a path, which has no space and ends with the name of a file. */
enum { IS_NUMBER = 1, IS_KEY = 2, IS_PATH = 4 };

typedef struct { u8 op, use; uint16_t inside; u32 literal, length; } step; /* inside the OPTIONAL */

/* How a record begins: a shape of fixed width, then the site (thread, file, line). From the
   fraction of the second on, the shape has to fit; what is before it is the date and the clock. */
enum { DIGIT = 1, SEVERITY = 2 }; /* in a shape; other bytes are meant as they are */

typedef struct { u32 width, fraction; u8 shape[SHAPE]; range site; } dialect;

/* Where rows go, and whose strings are numbered together. */
enum { SITES, CLOCKS, TEXTS, NODES, TENSORS, VERBOSE, FAILURES, BEFORE, TABLES };
/* TO_END: what is kept goes to the end of the line, and `rest` says whether it is whole. */
enum { IS_START = 1, IS_END = 2, TO_END = 4 };

/* Steps up to KEEP, and after it. Number 0 is none: it stands for the line before a verbose one. */
typedef struct { range head, rest; u32 table, file, flags; } message;

typedef struct { u32 literal, length; range messages; } file; /* number 0: lines without prefix */

/* What says in mid-line that another text begins: a dialect's shape, or a literal (NONE). It is
   searched for by an anchor, three bytes and how far the others are from the first. */
typedef struct { u32 dialect, literal, length, anchor; } needle;
typedef struct { u8 bytes[4]; u32 second, third; } anchor;

typedef struct {
    const u8 *literals;
    const dialect *dialects;
    const file *files;
    const message *messages;
    const step *steps;
    const needle *needles;
    const anchor *anchors;
    u32 dialect_count, file_count, message_count, needle_count, anchor_count;
} tables;

/* ---- what a scan gives --------------------------------------------------------------------- */

typedef struct { u64 a, b; } wide; /* of each hash one: pairs are found by both alone */

typedef struct {
    i64 number;
    wide key;
    u32 line, site, clock, micros; /* clock: date and clock as printed; NONE: there is none */
    u32 text;                      /* of a verbose line its first field; `number`: how many */
    uint16_t message;
    u8 table, place; /* place: which of the records of its line */
} row;

/* A string that is `at` somewhere; `mark`: the thread of a site, or a string's part of the key. */
typedef struct { wide mark; u64 hash, at; u32 length, table, tag, number; } entry;

/* Distinct strings. `slots` holds 1 + the index of an entry, 0 where free; `texts` is what `at`
   counts in; `bytes` are those of the strings, and one more for each. */
typedef struct {
    entry *entries;
    u32 *slots;
    u64 count, capacity, mask, bytes[TABLES];
    const u8 *texts[TABLES];
} dictionary;

/* What is known of a string from the blocks before: the last one that came with these bits of its
   hash. So what is in block after block is looked at and numbered once. `number`: as in `entry`;
   `settled`: in the log; NONE: not known yet. */
typedef struct { wide mark; u64 hash; u32 check, length, number, settled; } seen;

/* Classes of lines; from HOT on one for each message. A line has the class of its first record. */
enum { BLANK, CONTINUATION, IGNORED, COLD, HOT };

typedef struct {
    dictionary strings;
    row *rows;
    seen *seen; /* stays from scan to scan, as long as they are settled in one log */
    u32 *fields, *numbers; /* of each string its number in the log */
    u64 *classes, seen_mask, row_capacity, field_capacity;
    /* The rest is counted anew in each scan. */
    u64 row_count, field_count, lines, torn, table_rows[TABLES], dialects[DIALECTS];
} output;

/* ---- small things -------------------------------------------------------------------------- */

typedef struct { const u8 *p, *stop; } span;

static u64 size_of(span text) { return (u64)(text.stop - text.p); }

static int is_digit(u8 byte) { return byte >= '0' && byte <= '9'; }

static u64 word(const u8 *p) {
    u64 found;
    memcpy(&found, p, 8);
    return found;
}

static u64 mixed(u64 a, u64 b, u64 factor) {
    u128 product = (u128)(a ^ b) * factor;
    return (u64)product ^ (u64)(product >> 64);
}

static wide hash_of(span text, int which) {
    const u64 *keys = tflogscope_keys[which], *f = keys + 4;
    u64 a = keys[0] ^ size_of(text), b = keys[1];
    u8 last[32] = {0};
    const u8 *end = last;
    if (size_of(text) >= 32) end = text.stop - 32; /* it may overlap what is before it */
    else memcpy(last, text.p, size_of(text));
    for (const u8 *p = text.p, *at = NULL; at != end; p += 32) { /* two at once: none waits */
        at = size_of((span){p, text.stop}) > 32 ? p : end;
        a = mixed(a, word(at), f[0] ^ word(at + 8));
        b = mixed(b, word(at + 16), f[1] ^ word(at + 24));
    }
    return (wide){mixed(mixed(a, b, f[2]), keys[2], f[3]), mixed(mixed(b, a, f[3]), keys[3], f[2])};
}

/* A key, and one part more of it. */
static wide joined(wide key, u64 a, u64 b) {
    const u64 *one = tflogscope_keys[0], *two = tflogscope_keys[1];
    return (wide){mixed(key.a + one[0], a, one[7]), mixed(key.b + two[0], b, two[7])};
}

static int same(wide one, wide other) { return one.a == other.a && one.b == other.b; }

static int begins(span text, const u8 *literal, u64 length) {
    return size_of(text) >= length && memcmp(text.p, literal, length) == 0;
}

static const u8 *find(span in, const u8 *literal, u64 length) {
    for (; size_of(in) >= length; in.p++) {
        in.p = memchr(in.p, literal[0], size_of(in) - length + 1);
        if (in.p == NULL || memcmp(in.p, literal, length) == 0) return in.p;
    }
    return NULL;
}

static const u8 *find_last(span in, const u8 *literal, u64 length) {
    for (u64 end = size_of(in) + 1; end-- > length;)
        if (in.p[end - length] == literal[0] && memcmp(in.p + (end - length), literal, length) == 0)
            return in.p + (end - length);
    return NULL;
}

/* Where digits end whose number is below 2**63; else NULL. */
static const u8 *number(span in, i64 *value) {
    u64 found = 0, count = 0;
    for (; count < size_of(in) && is_digit(in.p[count]); count++) {
        if (count == 19) return NULL;
        found = found * 10 + (u64)(in.p[count] - '0');
    }
    if (count == 0 || found > INT64_MAX) return NULL;
    *value = (i64)found;
    return in.p + count;
}

/* ---- distinct strings ---------------------------------------------------------------------- */

/* The index of a string that is there, else NONE. */
static u32 known(const dictionary *d, const entry *e, span text) {
    for (u64 slot = e->hash & d->mask; d->slots[slot]; slot = (slot + 1) & d->mask) {
        const entry *it = &d->entries[d->slots[slot] - 1];
        if (it->hash == e->hash && it->length == e->length && it->table == e->table &&
            it->tag == e->tag && memcmp(d->texts[e->table] + it->at, text.p, e->length) == 0)
            return d->slots[slot] - 1;
    }
    return NONE;
}

/* Adds a string that is not there; there has to be room. */
static u32 add(dictionary *d, entry e) {
    u64 slot = e.hash & d->mask;
    while (d->slots[slot]) slot = (slot + 1) & d->mask;
    d->entries[d->count] = e;
    d->bytes[e.table] += (u64)e.length + 1;
    d->slots[slot] = (u32)++d->count;
    return (u32)d->count - 1;
}

typedef struct {
    const tables *t;
    output *out;
    const u8 *text, *end; /* all that may be read */
    u32 again;            /* in a torn line: IN_TORN, and ENDED if a blank line follows */
    u32 place, class;     /* records of this line so far, and the class of the first */
    u32 recent[RECENT];   /* the sites read last, most records are from one of them; 1 + index */
    u32 clock, next;      /* the same of the clock; where in `recent` the next site goes */
} scan;

/* A string; until more is known its mark is made of its hash. */
static entry string_of(const scan *s, u32 table, u32 tag, span text) {
    wide mark = hash_of(text, 0);
    mark.a = mixed(mark.a, (u64)table << 32 | tag, tflogscope_keys[0][7]);
    return (entry){mark, mark.a, (u64)(text.p - s->text), (u32)size_of(text), table, tag, 0};
}

/* Where it is kept what was seen of a string. */
static seen *seen_at(const output *out, u64 hash) { return &out->seen[hash & out->seen_mask]; }

static int was_seen(const seen *it, const entry *e, u32 check) {
    return it->hash == e->hash && it->check == check && it->length == e->length;
}

/* Adds a string that is new in its block. `check`: more of its hash. */
static u32 add_new(scan *s, entry e, u32 check) {
    seen *it = seen_at(s->out, e.hash);
    u32 settled = was_seen(it, &e, check) ? it->settled : NONE;
    *it = (seen){e.mark, e.hash, check, e.length, e.number, settled};
    s->out->numbers[s->out->strings.count] = settled;
    return add(&s->out->strings, e);
}

static u32 intern(scan *s, u32 table, u32 tag, span text) {
    entry e = string_of(s, table, tag, text);
    u32 index = known(&s->out->strings, &e, text);
    return index == NONE ? add_new(s, e, (u32)e.mark.b) : index;
}

/* ---- templates ----------------------------------------------------------------------------- */

typedef struct { i64 number; wide key; const u8 *keep, *kept, *after; span path; } found;

/* Where steps end that begin where `in` does; NULL if they do not fit. */
static const u8 *run(const tables *t, range steps, span in, found *f) {
    for (u32 i = steps.first; i < steps.first + steps.count; i++) {
        const step *step = &t->steps[i];
        const u8 *literal = t->literals + step->literal, *after = in.p;
        i64 value = 0;
        int minus = step->op == INT && size_of(in) && *in.p == '-';
        switch (step->op) {
        case LITERAL: after = begins(in, literal, step->length) ? in.p + step->length : NULL; break;
        case UINT:
        case INT: after = number((span){in.p + minus, in.stop}, &value); break;
        case LAST: after = find_last(in, literal, step->length); break;
        case FIND: after = find(in, literal, step->length); break;
        case SPAN:
            while (after < in.stop && memchr(literal, *after, step->length)) after++;
            break;
        case KEEP: f->keep = in.p; break;
        case KEPT: f->kept = in.p; break;
        case OPTIONAL:
            after = run(t, (range){i + 1, step->inside}, in, f);
            if (after == NULL) after = in.p;
            i += step->inside;
            break;
        default: after = in.p == in.stop ? in.p : NULL; /* END */
        }
        if (after == NULL) return NULL;
        span passed = {in.p, after};
        if (minus) value = -value;
        if (step->use & IS_NUMBER) f->number = value;
        if (step->use & IS_PATH) f->path = passed;
        if (step->use & IS_PATH && memchr(in.p, ' ', size_of(passed))) return NULL;
        if (step->use & IS_KEY) {
            int is_number = step->op == UINT || step->op == INT;
            f->key = is_number ? joined(f->key, (u64)value, (u64)value)
                               : joined(f->key, hash_of(passed, 0).a, hash_of(passed, 1).a);
        }
        in.p = after;
    }
    return in.p;
}

/* The first hot message of a file, from number `i` on, as which a text begins; else NONE. */
static u32 message_of(const tables *t, u32 file, u32 i, span text, found *f) {
    range hot = file == NONE ? (range){0, 0} : t->files[file].messages;
    for (i = i < hot.first ? hot.first : i; i < hot.first + hot.count; i++) {
        *f = (found){0};
        f->after = run(t, t->messages[i].head, text, f);
        if (f->after != NULL) return i;
    }
    return NONE;
}

/* ---- how a line begins --------------------------------------------------------------------- */

/* A record; or, dialect NONE, a line without a prefix. */
typedef struct {
    u32 dialect, site, clock, micros;
    u32 file; /* NONE: not covered. Of a line without a prefix its message, NONE: it is not kept */
    span message;
} record;

static int fits(const dialect *d, const u8 *p, u32 from) {
    for (u32 i = from; i < d->width; i++) {
        u8 mark = d->shape[i], byte = p[i];
        if (mark == DIGIT ? !is_digit(byte) : mark != SEVERITY && mark != byte) return 0;
        if (mark == SEVERITY && !memchr("IWEF", byte, 4)) return 0;
    }
    return 1;
}

/* The file that a path ends with. */
static u32 file_of(const tables *t, span path) {
    span name = {path.stop, path.stop};
    while (name.p > path.p && name.p[-1] != '/' && name.p[-1] != '\\') name.p--;
    for (u32 i = 1; i < t->file_count; i++)
        if (size_of(name) == t->files[i].length &&
            begins(name, t->literals + t->files[i].literal, t->files[i].length))
            return i;
    return NONE;
}

/* Whether a text begins with a string that was read before (1 + its index; 0: none was). */
static int begins_with(const scan *s, span text, u32 index, u32 table, u32 tag) {
    const entry *e = &s->out->strings.entries[index ? index - 1 : 0];
    const u8 *it = s->text + e->at;
    if (!index || e->table != table || e->tag != tag || size_of(text) < e->length) return 0;
    /* Sites begin alike. */
    if (e->length >= 8 && word(text.p + e->length - 8) != word(it + e->length - 8)) return 0;
    return memcmp(text.p, it, e->length) == 0;
}

/* The index of the site that a text begins with, NONE: it is none. */
static u32 site_of(scan *s, u32 dialect, span text) {
    for (u32 i = 0; i < RECENT; i++)
        if (begins_with(s, text, s->recent[i], SITES, dialect)) return s->recent[i] - 1;
    found f = {.number = -1};
    text.stop = run(s->t, s->t->dialects[dialect].site, text, &f);
    if (text.stop == NULL) return NONE;
    entry e = string_of(s, SITES, dialect, text);
    u32 index = known(&s->out->strings, &e, text);
    if (index == NONE) {
        u32 check = (u32)e.mark.b;
        e.mark = (wide){(u64)f.number, 0};
        e.number = file_of(s->t, f.path);
        index = add_new(s, e, check);
    }
    s->recent[s->next++ % RECENT] = index + 1;
    return index;
}

static record begin_of(scan *s, span line) {
    for (u32 i = 0; i < s->t->dialect_count; i++) {
        const dialect *d = &s->t->dialects[i];
        if (size_of(line) <= d->width || !fits(d, line.p, d->fraction)) continue;
        u32 site = site_of(s, i, (span){line.p + d->width, line.stop}), micros = 0;
        if (site == NONE) continue;
        for (u32 k = 1; k <= 6; k++) micros = micros * 10 + (u32)(line.p[d->fraction + k] - '0');
        if (!begins_with(s, line, s->clock, CLOCKS, i))
            s->clock = 1 + intern(s, CLOCKS, i, (span){line.p, line.p + d->fraction});
        const entry *e = &s->out->strings.entries[site];
        span message = {line.p + d->width + e->length, line.stop};
        return (record){i, site, s->clock - 1, micros, e->number, message};
    }
    found f;
    return (record){NONE, NONE, NONE, 0, message_of(s->t, 0, 0, line, &f), line};
}

static int is_verbose(const tables *t, const record *r) {
    return r->dialect == NONE && r->file != NONE && t->messages[r->file].table == VERBOSE;
}

/* ---- other writers' text ------------------------------------------------------------------- */

static int is_needle(const tables *t, const needle *n, span in) {
    if (n->dialect == NONE) return begins(in, t->literals + n->literal, n->length);
    return size_of(in) >= n->length && fits(&t->dialects[n->dialect], in.p, 0);
}

/* The length of the needle that a text begins with, 0: none. */
static u32 needle_at(const tables *t, span in) {
    u32 i = 0;
    while (i < t->needle_count && !is_needle(t, &t->needles[i], in)) i++;
    return i < t->needle_count ? t->needles[i].length : 0;
}

/* Whether an anchor is in a text. (Compilers make vector code of it.) */
static int holds(const anchor *a, span in) {
    u8 x = a->bytes[0], y = a->bytes[1], z = a->bytes[2], hit = 0;
    u64 count = size_of(in) > a->third ? size_of(in) - a->third : 0, b = a->second, c = a->third;
    for (u64 i = 0; i < count; i++) hit |= (in.p[i] == x) & (in.p[i + b] == y) & (in.p[i + c] == z);
    return hit;
}

/* The first place of a needle, NULL: there is none. */
static const u8 *foreign(const tables *t, span in) {
    const u8 *first = in.stop;
    for (u32 a = 0; a < t->anchor_count; a++) {
        if (!holds(&t->anchors[a], in)) continue;
        for (const needle *n = t->needles; n < t->needles + t->needle_count; n++)
            for (span at = in; n->anchor == a && at.p < first; at.p++)
                if (is_needle(t, n, at)) first = at.p;
    }
    return first < in.stop ? first : NULL;
}

/* ---- lines and pieces of lines ------------------------------------------------------------- */

/* TORN: another writer's text is in it, or it does not go on as it began. */
#define TORN UINT32_MAX
enum { IN_TORN = 1 << 16, ENDED = 1 << 17 };

static void add_row(scan *s, const record *r, u32 message, u32 text, i64 number, wide key) {
    u32 table = message == NONE ? TEXTS : s->t->messages[message].table;
    s->out->rows[s->out->row_count++] =
        (row){number, key, (u32)s->out->lines, r->site, r->clock, r->micros, text,
              (uint16_t)message, (u8)table, (u8)s->place};
    s->out->table_rows[table]++;
}

/* The index of what is kept of a record, TORN if it is not whole; only what is new in its block has
   to be looked at. `rest`: where the steps of its message go on. */
static u32 checked(scan *s, u32 table, u32 tag, span text, const message *m, span rest) {
    entry e = string_of(s, table, tag, text);
    u32 index = known(&s->out->strings, &e, text);
    if (index == NONE) {
        const seen *it = seen_at(s->out, e.hash);
        u32 check = (u32)e.mark.b;
        found f = {0};
        if (was_seen(it, &e, check) && it->number) e.number = 1, e.mark = it->mark;
        else if ((m == NULL || run(s->t, m->rest, rest, &f)) && !foreign(s->t, text))
            e.number = 1, e.mark = f.key;
        if (e.number || s->again) index = add_new(s, e, check);
    }
    return s->again || (index != NONE && s->out->strings.entries[index].number) ? index : TORN;
}

static u32 with_prefix(scan *s, const record *r) {
    const tables *t = s->t;
    if (r->file == NONE) return !s->again && foreign(t, r->message) ? TORN : IGNORED;
    found f;
    for (u32 i = 0; (i = message_of(t, r->file, i, r->message, &f)) != NONE; i++) {
        const message *m = &t->messages[i];
        span in = {f.after, r->message.stop};
        if (m->flags & TO_END) f.kept = in.stop;
        else if (run(t, m->rest, in, &f) == NULL) continue;
        if (f.keep == NULL) return HOT + i; /* it is counted only */
        u32 text = checked(s, m->table, 0, (span){f.keep, f.kept}, m, in);
        if (text == TORN) return TORN;
        wide mark = s->out->strings.entries[text].mark;
        add_row(s, r, i, text, f.number, joined(f.key, mark.a, mark.b));
        return HOT + i;
    }
    u32 text = checked(s, TEXTS, r->file, r->message, NULL, r->message);
    if (text != TORN) add_row(s, r, NONE, text, 0, (wide){0});
    return text == TORN ? TORN : COLD;
}

/* Keeps the fields of a verbose line, between its commas (the last may hold more); how many. */
static u32 add_fields(scan *s, span line) {
    for (u32 count = 1;; count++) {
        const u8 *comma = count < FIELDS ? memchr(line.p, ',', size_of(line)) : NULL;
        u32 field = intern(s, VERBOSE, 0, (span){line.p, comma ? comma : line.stop});
        s->out->fields[s->out->field_count++] = field;
        if (comma == NULL) return count;
        line.p = comma + 1;
    }
}

static u32 without_prefix(scan *s, const record *r) {
    span line = r->message;
    const message *m = &s->t->messages[r->file == NONE ? 0 : r->file];
    u32 marker = r->file == NONE ? 1 : s->t->steps[m->head.first].length;
    if (!s->again && foreign(s->t, (span){line.p + marker, line.stop})) return TORN;
    if (r->file == NONE) return CONTINUATION;
    u32 text = (u32)s->out->field_count, count = 0;
    if (m->table == VERBOSE) count = add_fields(s, line) | s->again;
    else text = intern(s, m->table, m->file, line);
    add_row(s, r, r->file, text, count, (wide){0});
    return m->table == FAILURES ? CONTINUATION : HOT + r->file;
}

static u32 look(scan *s, const record *r) {
    u32 class = r->dialect == NONE ? without_prefix(s, r) : with_prefix(s, r);
    if (class == TORN || class == CONTINUATION) return class;
    if (s->place == 0) s->class = class;
    if (s->place < PLACES - 1) s->place++;
    return class;
}

/* ---- torn lines ---------------------------------------------------------------------------- */

/* What puts colour around a text closes it again. */
static span without_colours(span piece) {
    for (;;) {
        const u8 *p = piece.stop;
        if (p == piece.p || *--p != 'm') return piece;
        while (p > piece.p && (is_digit(p[-1]) || p[-1] == ';')) p--;
        if (p - piece.p < 2 || p[-1] != '[' || p[-2] != '\x1b') return piece;
        piece.stop = p - 2;
    }
}

static span line_at(const scan *s, const u8 *p) {
    const u8 *stop = memchr(p, '\n', (u64)(s->end - p));
    return (span){p, stop ? stop : s->end};
}
static const u8 *after(const scan *s, span line) { return line.stop + (line.stop < s->end); }

/* The message of a prefix that stands alone, from the lines after its own: the first that can be
   one, unless another such prefix comes before it. */
static span message_after(scan *s, const record *r, const u8 *p) {
    int has_hot = r->file != NONE && s->t->files[r->file].messages.count > 0;
    for (int i = 0; i < AHEAD && p < s->end; i++) {
        found f;
        span line = line_at(s, p);
        record other = begin_of(s, line);
        p = after(s, line);
        if (other.dialect != NONE) {
            if (!size_of(other.message) || needle_at(s->t, other.message)) break;
        } else if (size_of(line) && !needle_at(s->t, line) &&
                   (!has_hot || message_of(s->t, r->file, 0, line, &f) != NONE)) {
            return line;
        }
    }
    return r->message;
}

static void torn(scan *s, span line) {
    record pieces[PLACES];
    u32 count = 0, cuts = 0, alone = PLACES;
    for (const u8 *p = line.p, *next; p != NULL; p = next) {
        u32 length = needle_at(s->t, (span){p, line.stop});
        span rest = {p + (length ? length : 1), line.stop};
        next = ++cuts == PLACES ? NULL : foreign(s->t, rest);
        span piece = without_colours((span){p, next ? next : line.stop});
        if (!size_of(piece)) continue;
        pieces[count] = begin_of(s, piece);
        if (!size_of(pieces[count].message)) alone = count;
        count++;
    }
    const u8 *next_line = after(s, line);
    s->again = IN_TORN | (next_line < s->end && *next_line == '\n' ? ENDED : 0);
    s->out->torn++;
    for (u32 i = 0; i < count; i++) {
        if (i == alone) pieces[i].message = message_after(s, &pieces[i], next_line);
        look(s, &pieces[i]);
    }
    s->again = 0;
}

/* ---- scan ---------------------------------------------------------------------------------- */

/* Room for all that one line may give. */
static int has_room(const output *out) {
    const u64 records = PLACES + AHEAD;
    return out->row_count + records <= out->row_capacity &&
           out->field_count + records * FIELDS <= out->field_capacity &&
           out->strings.count + records * (FIELDS + 2) <= out->strings.capacity;
}

static int has_lines_ahead(const scan *s, const u8 *p) {
    for (int i = 0; i < AHEAD && p != NULL; i++)
        p = (p = memchr(p, '\n', (u64)(s->end - p))) ? p + 1 : NULL;
    return p != NULL;
}

/* Keeps the line before a verbose one, if it is neither a record nor verbose itself. */
static void keep_line_before(scan *s, const u8 *p) {
    if (p == s->text) return;
    span line = {p - 1, p - 1};
    while (line.p > s->text && line.p[-1] != '\n') line.p--;
    record r = begin_of(s, line);
    if (size_of(line) && r.dialect == NONE && !is_verbose(s->t, &r))
        add_row(s, &r, 0, intern(s, BEFORE, 0, line), 0, (wide){0});
}

/* Scans the lines of `text` that begin from `begin` on and before `end`, and returns how far it
   has come: less than `end` if `out` is full, or if a torn line has not the lines after it that it
   may need, and `more` says that there are more. Other lines of the text are only looked at. Each
   line ends with a line feed; the last one need not. */
u64 tflogscope_scan(const tables *t, const u8 *text, u64 size, u64 begin, u64 end,
                             int more, output *out) {
    scan state = {.t = t, .out = out, .text = text, .end = text + size}, *s = &state;
    memset(out->strings.slots, 0, (out->strings.mask + 1) * sizeof(u32));
    memset(out->classes, 0, (HOT + t->message_count) * sizeof(u64));
    memset(&out->row_count, 0, sizeof *out - offsetof(output, row_count));
    out->strings.count = 0;
    for (u32 i = 0; i < TABLES; i++) out->strings.texts[i] = text, out->strings.bytes[i] = 0;
    const u8 *p = text + begin;
    while (p < text + end && has_room(out)) {
        if (*p == '\n') { /* any number of lines may be blank: these are counted, and that is all */
            out->classes[BLANK]++, out->lines++, p++;
            continue;
        }
        span line = line_at(s, p);
        record r = begin_of(s, line);
        s->place = 0;
        s->class = CONTINUATION;
        if (look(s, &r) == TORN) {
            if (more && !has_lines_ahead(s, after(s, line))) break;
            torn(s, line);
        }
        s->place = 0;
        if (is_verbose(t, &r)) keep_line_before(s, p);
        if (r.dialect != NONE) out->dialects[r.dialect]++;
        out->classes[s->class]++;
        out->lines++;
        p = after(s, line);
    }
    return (u64)(p - text);
}

/* ---- settle -------------------------------------------------------------------------------- */

/* The log's columns of a table, NULL where it has no such column. */
typedef struct {
    i64 *at, *end_at, *number;
    u32 *clock, *micros, *site, *end_clock, *end_micros, *end_site, *text;
    u64 used, capacity;
} columns;

/* A key of which a run has begun and not ended. ODD: not one start and then its end; all of its
   records from then on go to `odds`, and are paired when the log is known to its end. */
enum { FREE, OPEN, ODD };

typedef struct { wide key; u32 run, state; } opened;
typedef struct { wide key; i64 at, run; u32 clock, micros, site; } odd; /* run -1: an end */

typedef struct {
    dictionary strings;
    u8 *arenas[TABLES]; /* their strings, a line feed after each */
    u64 arena_capacity[TABLES];
    u32 numbers[TABLES]; /* strings so far */
    columns columns[TABLES];
    u32 *fields;
    opened *open;
    odd *odds;
    u64 field_used, field_capacity, open_used, open_mask, odd_used, odd_capacity, lines;
} store;

/* The number that a string of a block has in the log. */
static u32 settled(store *s, entry e, const u8 *text, seen *it) {
    span string = {text + e.at, text + e.at + e.length};
    u32 index = known(&s->strings, &e, string);
    if (index == NONE) {
        e.at = s->strings.bytes[e.table];
        e.number = s->numbers[e.table]++;
        memcpy(s->arenas[e.table] + e.at, string.p, e.length);
        s->arenas[e.table][e.at + e.length] = '\n';
        index = add(&s->strings, e);
    }
    u32 number = s->strings.entries[index].number;
    if (it->hash == e.hash && it->length == e.length) it->settled = number;
    return number;
}

static opened *opened_at(opened *open, u64 mask, wide key) {
    u64 slot = key.a & mask;
    while (open[slot].state != FREE && !same(open[slot].key, key)) slot = (slot + 1) & mask;
    return &open[slot];
}

/* Frees a slot. What is behind it and could not be where its key belongs moves up. */
static void forget(store *s, u64 hole) {
    for (u64 next = hole, mask = s->open_mask;;) {
        next = (next + 1) & mask;
        if (s->open[next].state == FREE) break;
        if (((next - s->open[next].key.a) & mask) < ((next - hole) & mask)) continue;
        s->open[hole] = s->open[next];
        hole = next;
    }
    s->open[hole].state = FREE;
    s->open_used--;
}

static void pair(store *s, odd r) {
    columns *runs = &s->columns[NODES];
    opened *o = opened_at(s->open, s->open_mask, r.key);
    u32 n = o->run;
    if (o->state == OPEN && r.run < 0) {
        runs->end_at[n] = r.at, runs->end_site[n] = r.site;
        runs->end_clock[n] = r.clock, runs->end_micros[n] = r.micros;
        forget(s, (u64)(o - s->open));
        return;
    }
    if (o->state == FREE) {
        s->open_used++;
        *o = (opened){r.key, (u32)r.run, r.run < 0 ? ODD : OPEN};
        if (r.run >= 0) return;
    } else if (o->state == OPEN) {
        odd first = {r.key, runs->at[n], n, runs->clock[n], runs->micros[n], runs->site[n]};
        s->odds[s->odd_used++] = first;
        o->state = ODD;
    }
    s->odds[s->odd_used++] = r;
}

static void append(const tables *t, store *s, const row *r, const u32 *map) {
    columns *c = &s->columns[r->table];
    u32 flags = r->table == NODES ? t->messages[r->message].flags : 0;
    odd it = {r->key, (i64)(s->lines + r->line) * PLACES + r->place, -1,
              r->clock == NONE ? NONE : map[r->clock], r->micros,
              r->site == NONE ? NONE : map[r->site]};
    if (!(flags & IS_END)) {
        u64 n = c->used++;
        it.run = (i64)n;
        c->at[n] = it.at;
        c->text[n] = r->table == VERBOSE ? (u32)s->field_used + r->text : map[r->text];
        if (c->number) c->number[n] = r->number;
        if (c->clock) c->clock[n] = it.clock, c->micros[n] = it.micros, c->site[n] = it.site;
        if (c->end_at) c->end_at[n] = -1, c->end_clock[n] = c->end_site[n] = NONE;
    }
    if (flags & (IS_START | IS_END)) pair(s, it);
}

/* Appends what the scan of a block gave. Returns 0, or -1 if there is not enough room somewhere:
   then nothing has been done. */
int tflogscope_settle(const tables *t, const output *out, const u8 *text, store *s) {
    u32 *map = out->numbers;
    const dictionary *mine = &out->strings;
    u64 strings = s->strings.count + mine->count, nodes = out->table_rows[NODES];
    int full = strings > s->strings.capacity || 2 * strings > s->strings.mask + 1 ||
               2 * (s->open_used + nodes) > s->open_mask + 1 ||
               s->odd_used + 2 * nodes > s->odd_capacity ||
               s->field_used + out->field_count > s->field_capacity;
    for (u32 i = 0; i < TABLES; i++)
        full |= s->strings.bytes[i] + mine->bytes[i] > s->arena_capacity[i] ||
                s->columns[i].used + out->table_rows[i] > s->columns[i].capacity;
    if (full) return -1;
    for (u64 i = 0; i < mine->count; i++)
        if (map[i] == NONE)
            map[i] = settled(s, mine->entries[i], text, seen_at(out, mine->entries[i].hash));
    for (u64 i = 0; i < out->row_count; i++) append(t, s, &out->rows[i], map);
    for (u64 i = 0; i < out->field_count; i++) s->fields[s->field_used++] = map[out->fields[i]];
    s->lines += out->lines;
    return 0;
}

/* Fills the slots of a dictionary, all free, when it has been given more of them. */
void tflogscope_index(dictionary *d) {
    u64 count = d->count;
    memset(d->bytes, 0, sizeof d->bytes);
    for (d->count = 0; d->count < count;) add(d, d->entries[d->count]);
}

/* The same for open runs, from a table of `count` to another, all free. */
void tflogscope_move(const opened *from, u64 count, opened *to, u64 mask) {
    for (u64 i = 0; i < count; i++)
        if (from[i].state != FREE) *opened_at(to, mask, from[i].key) = from[i];
}

/* Whether whole lines are ASCII without NULs or carriage returns, and none is longer than `cap`. */
int tflogscope_is_plain(const u8 *text, u64 size, u64 cap) {
    u8 bad = 0;
    for (u64 i = 0; i < size; i++) bad |= ((u8)(text[i] - 1) >= 0x7f) | (text[i] == '\r');
    for (u64 start = 0, end; !bad && size - start > cap + 1; start = end) {
        /* The last line feed up to here says that no line before it is too long. */
        for (end = start + cap + 1; end > start && text[end - 1] != '\n';) end--;
        bad = end == start;
    }
    return !bad;
}

/* What comes behind a shape; NULL where there is something else. In a shape DIGITS is one digit or more, STRING what a JSON string
 * has between its quotes. */
static const u8 *behind(const u8 *shape, u64 length, const u8 *p, const u8 *stop) {
    enum { DIGITS = 1, STRING = 2 };
    const u64 ONES = 0x0101010101010101;
    for (u64 i = 0, a, b; i < length; i++) {
        /* Eight at a time, as long as they are the same and none of them is a mark. */
        for (; length - i > 8 && stop - p >= 8; i += 8, p += 8) {
            memcpy(&a, shape + i, 8), memcpy(&b, p, 8);
            if (a != b || ((a - ONES * 3) & ~a & (ONES << 7))) break;
        }
        if (shape[i] == STRING) {
            while (p < stop && *p != '"') p += *p == '\\' && p + 1 < stop ? 2 : 1;
            if (p == stop) return NULL;
            continue;
        }
        if (p == stop || (shape[i] == DIGITS ? !is_digit(*p) : *p != shape[i])) return NULL;
        p++;
        while (shape[i] == DIGITS && p < stop && is_digit(*p)) p++;
    }
    return p;
}

static int hex_of(u8 c) { return is_digit(c) ? c - '0' : (c |= 32) >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* Write a character of a JSON string that is escaped; NULL: it ends a line, is none, or is half of one. */
static u8 *unescape(const u8 **p, const u8 *end, u8 *to) {
    u8 kind = *(*p)++;
    if (kind == '"' || kind == '\\' || kind == '/') *to++ = kind;
    else if (kind == 't') *to++ = '\t';
    else if (kind == 'u' && end - *p >= 4) {
        int code = 0;
        for (int i = 0; i < 4; i++) {
            int digit = hex_of(*(*p)++);
            if (digit < 0) return NULL;
            code = 16 * code + digit;
        }
        if (code == 0 || code == '\n' || code == '\r' || (code >= 0xd800 && code < 0xe000)) return NULL;
        if (code >= 0x800) *to++ = (u8)(0xe0 | code >> 12), *to++ = (u8)(0x80 | (code >> 6 & 0x3f));
        else if (code >= 0x80) *to++ = (u8)(0xc0 | code >> 6);
        *to++ = code < 0x80 ? (u8)code : (u8)(0x80 | (code & 0x3f));
    } else return NULL;
    return to;
}

/* Write the text of a JSON string; return where it ends in `to`, NULL if what is behind it is not this tail, up to the end. */
static u8 *unquote(const u8 *p, const u8 *end, const u8 *tail, u64 length, u8 *to) {
    const u64 ONES = 0x0101010101010101;
    while (p < end) {
        /* Eight at a time, as long as none of them is a quote or a backslash: then the highest bit of a byte is set. */
        for (u64 word; end - p >= 8; p += 8, to += 8) {
            memcpy(&word, p, 8);
            memcpy(to, &word, 8);
            u64 quote = word ^ (ONES * '"'), slash = word ^ (ONES * '\\');
            if ((((quote - ONES) & ~quote) | ((slash - ONES) & ~slash)) & (ONES << 7)) break;
        }
        while (p < end && *p != '"' && *p != '\\') *to++ = *p++;
        if (end - p < 2 || *p == '"' || p[1] == 'n') break;
        p++;
        if ((to = unescape(&p, end, to)) == NULL) return NULL;
    }
    return behind(tail, length, p, end) == end ? to : NULL;
}

/* Write the text of a line of this shape; return where it ends in `to`, NULL if the line has another. The shape becomes the next one:
 * each is a head and a tail, both with two bytes of length before; with a tail the text is a JSON string. */
static u8 *without(const u8 **shape, const u8 *p, const u8 *end, u8 *to) {
    const u8 *head = *shape + 2, *tail = head + (head[-2] | head[-1] << 8) + 2;
    u64 head_size = (u64)(tail - head) - 2, tail_size = tail[-2] | (u64)tail[-1] << 8;
    *shape = tail + tail_size;
    const u8 *text = behind(head, head_size, p, end);
    if (text == NULL || tail_size) return text ? unquote(text, end, tail, tail_size, to) : NULL;
    return (u8 *)memcpy(to, text, (u64)(end - text)) + (end - text);
}

/* Write whole lines without what is around them to `out`, which has as much room; return how many bytes. `which` gets the number
 * of each line's shape, and `read` is where the first line begins that has none of these. */
u64 tflogscope_unwrap(const u8 *text, u64 size, const u8 *shapes, u64 shapes_size, u8 *out, u8 *which, u64 *lines, u64 *read) {
    u8 *to = out, number = 0;
    const u8 *p = text, *stop = text + size, *last = shapes;
    for (; p < stop; ++*lines) {
        const u8 *feed = memchr(p, '\n', (u64)(stop - p)), *end = feed ? feed : stop, *shape = last;
        u8 *done = without(&shape, p, end, to); /* most lines have that of the line before */
        if (done == NULL) {
            number = 0xff, shape = shapes;
            while (done == NULL && shape < shapes + shapes_size) number++, last = shape, done = without(&shape, p, end, to);
            if (done == NULL) break;
        }
        which[*lines] = number;
        to = done;
        if (feed) *to++ = '\n';
        p = feed ? feed + 1 : stop;
    }
    *read = (u64)(p - text);
    return (u64)(to - out);
}
