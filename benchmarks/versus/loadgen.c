/* Replays prepared Kafka requests over many connections and says how fast the answers came.
 *
 *     loadgen PORT FRAMES [options]
 *       -c N    connections (1)
 *       -f N    requests in flight on each of them (1)
 *       -w S    seconds that do not count, before (0)
 *       -t S    seconds that count (1); on until one answer has come, and no longer for those still awaited
 *               than half a second
 *       -n N    at most so many requests (no limit)
 *       -o      each frame once, over all connections; the end is the last answer
 *       -p US   one request is due every so many microseconds, whether or not the last was answered;
 *               an answer's time runs from when its request was due
 *       -h FILE frames that each connection sends first, one by one; they do not count
 *       -k      all answers to one frame are the same: compare lengths always, contents now and then
 *               (the bytes, in any order)
 *       -s FILE keep the first answer to each frame
 *
 * A file of frames holds requests as they go over the wire, sizes included. The correlation id of
 * each is set here: 1, 2, 3 ... on each connection; an answer with another one than the next ends
 * everything. One thread, one epoll; an answer costs about a third of a microsecond of this process, so that what
 * is measured is the server. Nothing is decoded: whoever wants to know what an answer says keeps it.
 *
 * Prints one line of JSON. Ends with 1, and why on stderr, if an answer is wrong or does not come.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    ID_AT = 8,               /* of a request: behind size, key and version */
    HEAD = 8,                /* of an answer: size and correlation id */
    ANSWER_MAX = 1 << 30,
    READ_BYTES = 1 << 18,
    SAMPLE = 64,             /* one answer of so many is compared as a whole */
    PATIENCE_S = 120,        /* more silence than this is a failure */
    DRAIN_MS = 500,          /* so long for answers that come too late to count */
    SUB = 64,                /* steps of the histogram in each power of two: 1.6 % */
    BUCKETS = 64 * SUB,
};

typedef struct {
    uint8_t *at;
    uint32_t size;
    int64_t answer_size;     /* -1: not answered yet */
    uint64_t answer_hash;
    uint8_t *kept;
} Frame;

typedef struct {
    int64_t due_ns;
    uint32_t frame;
} Waiting;

typedef struct {
    int fd;
    uint32_t number, next_frame, hello;
    int32_t sent_id, answered_id;
    uint32_t in_flight, first;       /* a ring of what waits for its answer */
    Waiting *waiting;
    uint8_t *out;
    size_t out_from, out_to, out_room;
    int wants_write;
    uint8_t head[HEAD];
    uint32_t head_got;
    int64_t left, body;              /* bytes of the answer that are missing; its size without head */
    uint64_t hash;
    int hashing;
    uint8_t *keeping;
} Peer;

static struct {
    int port;
    uint32_t connections, in_flight;
    double warm_s, time_s;
    int64_t requests_max, pace_ns;
    int once, same;
    const char *hello_file, *save_file;
} chosen = {.connections = 1, .in_flight = 1, .time_s = 1, .requests_max = INT64_MAX};

static Frame *frames, *hellos;
static uint32_t frame_count, hello_count, next_once;
static Peer *peers;
static int epoll_fd;
static int64_t begin_ns, count_from_ns, end_ns, last_answer_ns, next_due_ns;
static int64_t sent, waiting_total, answers, answer_bytes, max_ns, sum_ns;
static int ending;
static uint64_t histogram[BUCKETS];

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "loadgen: %s\n", what);
    exit(1);
}

static void wrong(const Peer *peer, const char *what, int64_t found, int64_t expected) {
    fprintf(stderr, "loadgen: connection %u, answer %d: %s is %lld; expected: %lld\n",
            peer->number, peer->answered_id + 1, what, (long long)found, (long long)expected);
    exit(1);
}

static void *made(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) fail("no memory");
    return memory;
}

static Frame *read_frames(const char *name, uint32_t *count) {
    FILE *file = fopen(name, "rb");
    if (!file) fail("cannot open a file of frames");
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file), at = 0;
    rewind(file);
    uint8_t *data = made(size, 1);
    if (fread(data, 1, size, file) != size) fail("cannot read a file of frames");
    fclose(file);
    Frame *found = NULL;
    *count = 0;
    while (at + 4 <= size) {
        uint32_t body;
        memcpy(&body, data + at, 4);
        body = ntohl(body);
        if (body < 8 || at + 4 + body > size) fail("a file of frames ends inside a frame");
        if ((*count & (*count - 1)) == 0)
            found = realloc(found, sizeof(Frame) * (*count ? *count * 2 : 1));
        if (!found) fail("no memory");
        found[(*count)++] = (Frame){.at = data + at, .size = body + 4, .answer_size = -1};
        at += 4 + body;
    }
    if (!*count) fail("a file of frames is empty");
    return found;
}

static void count_latency(int64_t ns) {
    uint64_t v = ns < 1 ? 1 : (uint64_t)ns;
    int power = 63 - __builtin_clzll(v);
    uint64_t step = power >= 6 ? (v >> (power - 6)) & (SUB - 1) : 0;
    histogram[power * SUB + step]++;
    sum_ns += ns;
    if (ns > max_ns) max_ns = ns;
}

static double percentile_us(double share) {
    uint64_t wanted = (uint64_t)(share * (double)answers), seen = 0;
    for (int i = 0; i < BUCKETS; i++) {
        seen += histogram[i];
        if (seen > wanted) {
            int power = i / SUB, step = i % SUB;
            double low = (double)(1ULL << power);
            return (low + low * ((double)step + 0.5) / SUB) / 1000;
        }
    }
    return (double)max_ns / 1000;
}

/* A sum over all bytes: a broker orders the rows of an answer now so, now so. */
static uint64_t hashed(uint64_t hash, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) hash += (data[i] + 1) * 0x9e3779b97f4a7c15ULL >> (data[i] & 31);
    return hash;
}

/* --- sending --- */

static void watch(Peer *peer, int writable) {
    if (peer->wants_write == writable) return;
    peer->wants_write = writable;
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = peer};
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, peer->fd, &event);
}

static void flush_out(Peer *peer) {
    while (peer->out_from < peer->out_to) {
        ssize_t n = send(peer->fd, peer->out + peer->out_from, peer->out_to - peer->out_from, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EAGAIN || errno == EINTR) break;
            wrong(peer, "the error of a write", errno, 0);
        }
        peer->out_from += (size_t)n;
    }
    if (peer->out_from == peer->out_to) peer->out_from = peer->out_to = 0;
    watch(peer, peer->out_from < peer->out_to);
}

static void queue(Peer *peer, const Frame *frame, uint32_t number, int64_t due_ns) {
    if (peer->out_to + frame->size > peer->out_room) {
        memmove(peer->out, peer->out + peer->out_from, peer->out_to - peer->out_from);
        peer->out_to -= peer->out_from;
        peer->out_from = 0;
        while (peer->out_to + frame->size > peer->out_room) peer->out_room *= 2;
        peer->out = realloc(peer->out, peer->out_room);
        if (!peer->out) fail("no memory");
    }
    uint8_t *place = peer->out + peer->out_to;
    memcpy(place, frame->at, frame->size);
    uint32_t id = htonl((uint32_t)++peer->sent_id);
    memcpy(place + ID_AT, &id, 4);
    peer->out_to += frame->size;
    peer->waiting[(peer->first + peer->in_flight++) % chosen.in_flight] = (Waiting){due_ns, number};
}

static int may_send(const Peer *peer) {
    if (peer->in_flight >= chosen.in_flight || ending || sent >= chosen.requests_max) return 0;
    return !chosen.once || next_once < frame_count;
}

/* Keep a connection's requests in flight; with a pace only those that are due. */
static void fill(Peer *peer, int64_t now) {
    while (may_send(peer)) {
        int64_t due = now;
        if (chosen.pace_ns) {
            if (next_due_ns > now) break;
            due = next_due_ns;
            next_due_ns += chosen.pace_ns;
        }
        uint32_t number = chosen.once ? next_once++ : peer->next_frame++ % frame_count;
        queue(peer, &frames[number], number, due);
        sent++;
        waiting_total++;
    }
    flush_out(peer);
}

/* --- receiving --- */

static void begin_answer(Peer *peer) {
    uint32_t size, id;
    memcpy(&size, peer->head, 4);
    memcpy(&id, peer->head + 4, 4);
    size = ntohl(size);
    if (size < 4 || size > ANSWER_MAX) wrong(peer, "the size", (int32_t)size, ANSWER_MAX);
    if (!peer->in_flight) wrong(peer, "what nobody asked for", 1, 0);
    if ((int32_t)ntohl(id) != peer->answered_id + 1)
        wrong(peer, "the correlation id", (int32_t)ntohl(id), peer->answered_id + 1);
    peer->left = peer->body = (int64_t)size - 4;
    peer->hash = 0;
    peer->hashing = 0;
    peer->keeping = NULL;
    if (peer->hello < hello_count) return;
    Frame *frame = &frames[peer->waiting[peer->first].frame];
    if (frame->answer_size < 0) {
        peer->hashing = 1;
        if (chosen.save_file && !frame->kept) frame->kept = peer->keeping = made((size_t)peer->body, 1);
    } else if (chosen.same) {
        if (peer->body != frame->answer_size) wrong(peer, "the length", peer->body, frame->answer_size);
        peer->hashing = peer->answered_id % SAMPLE == 0;
    }
}

static void take(Peer *peer, const uint8_t *data, size_t size) {
    if (peer->hashing) {
        peer->hash = hashed(peer->hash, data, size);
        if (peer->keeping) memcpy(peer->keeping + (peer->body - peer->left), data, size);
    }
    peer->left -= (int64_t)size;
}

static void end_answer(Peer *peer, int64_t now) {
    Waiting done = peer->waiting[peer->first];
    peer->first = (peer->first + 1) % chosen.in_flight;
    peer->in_flight--;
    peer->answered_id++;
    peer->head_got = 0;
    if (peer->hello < hello_count) {
        peer->hello++;
        return;
    }
    waiting_total--;
    Frame *frame = &frames[done.frame];
    if (peer->hashing) {
        if (frame->answer_size < 0) {
            frame->answer_size = peer->body;
            frame->answer_hash = peer->hash;
        } else if (chosen.same && frame->answer_hash != peer->hash) {
            wrong(peer, "the content, as a hash,", (int64_t)peer->hash, (int64_t)frame->answer_hash);
        }
    }
    if (now < count_from_ns || (now > end_ns && answers && !chosen.once)) return;
    last_answer_ns = now;
    answers++;
    answer_bytes += peer->body + HEAD;
    count_latency(now - done.due_ns);
}

static void say_hello(Peer *peer, int64_t now) {
    if (peer->in_flight) return;
    queue(peer, &hellos[peer->hello], 0, now);
    flush_out(peer);
}

static void receive(Peer *peer, uint8_t *buffer) {
    for (;;) {
        ssize_t got = recv(peer->fd, buffer, READ_BYTES, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (got <= 0) wrong(peer, "the end of the connection", got < 0 ? errno : 0, -1);
        int64_t now = now_ns();
        const uint8_t *at = buffer, *end = buffer + got;
        while (at < end) {
            if (peer->head_got < HEAD) {
                uint32_t n = HEAD - peer->head_got;
                if ((ptrdiff_t)n > end - at) n = (uint32_t)(end - at);
                memcpy(peer->head + peer->head_got, at, n);
                peer->head_got += n;
                at += n;
                if (peer->head_got < HEAD) break;
                begin_answer(peer);
            }
            size_t n = end - at < peer->left ? (size_t)(end - at) : (size_t)peer->left;
            take(peer, at, n);
            at += n;
            if (!peer->left) end_answer(peer, now);
        }
        if (got < READ_BYTES) break;
    }
}

/* --- the run --- */

static void dial(Peer *peer, uint32_t number) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)chosen.port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer->fd < 0 || connect(peer->fd, (struct sockaddr *)&address, sizeof address)) fail("cannot connect");
    int one = 1;
    setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(peer->fd, F_SETFL, O_NONBLOCK);
    peer->number = number;
    peer->next_frame = number;
    peer->waiting = made(chosen.in_flight, sizeof(Waiting));
    peer->out_room = 1 << 16;
    peer->out = made(peer->out_room, 1);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, peer->fd, &event);
}

static void greet(uint8_t *buffer) {
    struct epoll_event events[256];
    int64_t give_up_ns = now_ns() + PATIENCE_S * 1000000000LL;
    for (uint32_t left = chosen.connections; left;) {
        left = 0;
        for (uint32_t i = 0; i < chosen.connections; i++) {
            if (peers[i].hello < hello_count) {
                left++;
                say_hello(&peers[i], now_ns());
            }
        }
        if (!left) break;
        int n = epoll_wait(epoll_fd, events, 256, 1000);
        for (int i = 0; i < n; i++)
            if (events[i].data.ptr) receive(events[i].data.ptr, buffer);
        if (now_ns() > give_up_ns) fail("the greetings are not answered");
    }
}

static int over(int64_t now) {
    if (chosen.once) return next_once >= frame_count && !waiting_total;
    if ((now >= end_ns && answers) || sent >= chosen.requests_max) ending = 1;
    return ending && (!waiting_total || (answers && now >= end_ns + DRAIN_MS * 1000000LL));
}

static void run(uint8_t *buffer, int timer_fd) {
    struct epoll_event events[256];
    int64_t now = begin_ns = now_ns(), heard_ns = now;
    count_from_ns = begin_ns + (int64_t)(chosen.warm_s * 1e9);
    end_ns = chosen.once ? INT64_MAX : count_from_ns + (int64_t)(chosen.time_s * 1e9);
    next_due_ns = now;
    for (uint32_t i = 0; i < chosen.connections; i++) fill(&peers[i], now);
    while (!over(now)) {
        int n = epoll_wait(epoll_fd, events, 256, 100);
        now = now_ns();
        for (int i = 0; i < n; i++) {
            Peer *peer = events[i].data.ptr;
            if (!peer) {
                uint64_t ticks;
                if (read(timer_fd, &ticks, sizeof ticks) < 0) continue;
                for (uint32_t j = 0; j < chosen.connections; j++) fill(&peers[j], now);
                continue;
            }
            if (events[i].events & EPOLLOUT) flush_out(peer);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
                receive(peer, buffer);
                heard_ns = now;
                fill(peer, now_ns());
            }
        }
        if (waiting_total && now - heard_ns > PATIENCE_S * 1000000000LL) fail("no answer comes any more");
    }
}

static void save(void) {
    FILE *file = fopen(chosen.save_file, "wb");
    if (!file) fail("cannot keep the answers");
    for (uint32_t i = 0; i < frame_count; i++) {
        uint32_t size = frames[i].answer_size < 0 ? 0 : (uint32_t)frames[i].answer_size;
        uint32_t sized = htonl(size);
        fwrite(&sized, 4, 1, file);
        if (size) fwrite(frames[i].kept, size, 1, file);
    }
    fclose(file);
}

static void print_results(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    int by_time = !chosen.once && chosen.requests_max == INT64_MAX && last_answer_ns <= end_ns;
    double seconds = by_time ? chosen.time_s : (double)(last_answer_ns - count_from_ns) / 1e9;
    printf("{\"answers\": %lld, \"seconds\": %.6f, \"rate\": %.3f, \"bytes\": %lld, \"mean_us\": %.2f,"
           " \"p50_us\": %.2f, \"p90_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f, \"max_us\": %.2f,"
           " \"own_cpu_s\": %.3f, \"left\": %lld, \"histogram_us\": {",
           (long long)answers, seconds, seconds > 0 ? (double)answers / seconds : 0, (long long)answer_bytes,
           answers ? (double)sum_ns / (double)answers / 1000 : 0, percentile_us(0.5), percentile_us(0.9),
           percentile_us(0.99), percentile_us(0.999), (double)max_ns / 1000, cpu_s, (long long)waiting_total);
    const char *comma = "";
    for (int power = 0; power < 63; power++) {
        uint64_t count = 0;
        for (int step = 0; step < SUB; step++) count += histogram[power * SUB + step];
        if (!count) continue;
        printf("%s\"%.3f\": %llu", comma, (double)(2ULL << power) / 1000, (unsigned long long)count);
        comma = ", ";
    }
    printf("}}\n");
}

static void options(int count, char **words) {
    if (count < 3) fail("usage: loadgen PORT FRAMES [-c N] [-f N] [-w S] [-t S] [-n N] [-o] [-p US] [-h FILE] [-k] [-s FILE]");
    chosen.port = atoi(words[1]);
    frames = read_frames(words[2], &frame_count);
    optind = 3;
    for (int letter; (letter = getopt(count, words, "c:f:w:t:n:op:h:ks:")) != -1;) {
        switch (letter) {
            case 'c': chosen.connections = (uint32_t)atoi(optarg); break;
            case 'f': chosen.in_flight = (uint32_t)atoi(optarg); break;
            case 'w': chosen.warm_s = atof(optarg); break;
            case 't': chosen.time_s = atof(optarg); break;
            case 'n': chosen.requests_max = atoll(optarg); break;
            case 'o': chosen.once = 1; break;
            case 'p': chosen.pace_ns = atoll(optarg) * 1000; break;
            case 'h': chosen.hello_file = optarg; break;
            case 'k': chosen.same = 1; break;
            case 's': chosen.save_file = optarg; break;
            default: fail("an option that there is not");
        }
    }
    if (!chosen.connections || !chosen.in_flight) fail("connections and requests in flight: at least 1");
    if (chosen.hello_file) hellos = read_frames(chosen.hello_file, &hello_count);
}

int main(int count, char **words) {
    options(count, words);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    peers = made(chosen.connections, sizeof(Peer));
    uint8_t *buffer = made(READ_BYTES, 1);
    for (uint32_t i = 0; i < chosen.connections; i++) dial(&peers[i], i);
    greet(buffer);
    int timer_fd = -1;
    if (chosen.pace_ns) {
        timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        struct timespec pace = {chosen.pace_ns / 1000000000LL, chosen.pace_ns % 1000000000LL};
        struct itimerspec timer = {.it_interval = pace, .it_value = pace};
        timerfd_settime(timer_fd, 0, &timer, NULL);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event);
    }
    run(buffer, timer_fd);
    if (chosen.save_file) save();
    print_results();
    return 0;
}
