/* A stand-in for NVIDIA's libnvidia-ml.so.1, driven by a scenario file, so that the unmodified pynvml runs anywhere.

   The scenario is the JSON file that STANDIN_NVML names (in a container: /etc/standin-nvml.json), read again when it
   changes. Strings in it hold no escapes. What it does not give, the functions answer with NOT_SUPPORTED. Its keys:

     driver, nvml, cuda          versions
     functions.NAME              {"error": code, "latency_ms": n, "hang": true} for a function of the library
     cards.N                     a card: see the functions below for its keys; "lost": true for one off the bus
     cards.N.functions.NAME      the same as above, for calls about this card alone
     cards.N.mig.M               a MIG instance: uuid, name, gi, ci, memory
     topology.N.M                how far apart two cards are, as NVML counts it: 10 a switch … 50 the system
     events.N                    {"card": n, "type": 8, "data": 79}: an XID
*/
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OK, UNINITIALIZED, INVALID, NOT_SUPPORTED, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10, LOST = 15 };
#define IN_CONTAINER "/etc/standin-nvml.json"
#define SLOTS 64

typedef unsigned long long u64;
typedef struct { u64 total, free, used; } memory_v1;
typedef struct { unsigned version; u64 total, reserved, free, used; } memory_v2;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_info;
typedef struct { unsigned pid; u64 memory; unsigned gi, ci; } process_info;
typedef struct { void *device; u64 type, data; unsigned gi, ci; } event_data;

static pthread_mutex_t reloading = PTHREAD_MUTEX_INITIALIZER;
static const char *scenario; /* texts that were replaced are kept: another thread may be reading one */
static struct stat seen;
static int started;

/* Reading the scenario */

static const char *load(const char *path, size_t size) {
    FILE *file = fopen(path, "re");
    char *text = calloc(1, size + 1);
    if (file && text) size = fread(text, 1, size, file);
    if (file) fclose(file);
    return text;
}

static const char *current(void) {
    const char *path = getenv("STANDIN_NVML");
    struct stat now;
    if (!path || !*path) path = IN_CONTAINER;
    pthread_mutex_lock(&reloading);
    if (stat(path, &now) != 0) {
        scenario = NULL;
        memset(&seen, 0, sizeof seen);
    } else if (!scenario || now.st_ino != seen.st_ino || now.st_size != seen.st_size ||
               now.st_mtim.tv_nsec != seen.st_mtim.tv_nsec || now.st_mtim.tv_sec != seen.st_mtim.tv_sec) {
        scenario = load(path, (size_t)now.st_size);
        seen = now;
    }
    const char *text = scenario;
    pthread_mutex_unlock(&reloading);
    return text;
}

static const char *blank(const char *at) {
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t' || *at == ',' || *at == ':') at++;
    return at;
}

static const char *after(const char *at) { /* the end of the value that begins here */
    int depth = 0;
    do {
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++) {}
            if (*at) at++;
        } else if (*at == '{' || *at == '[') {
            depth++, at++;
        } else if (*at == '}' || *at == ']') {
            depth--, at++;
        } else if (depth) {
            at++;
        } else {
            while (*at && !strchr(",]} \n\r\t", *at)) at++;
        }
    } while (*at && depth);
    return at;
}

static const char *child(const char *at, const char *name, size_t length) {
    int table = *at == '{';
    long wanted = strtol(name, NULL, 10);
    if (!table && *at != '[') return NULL;
    for (at = blank(at + 1); *at && *at != '}' && *at != ']'; at = blank(after(at))) {
        if (table) {
            int same = strncmp(at + 1, name, length) == 0 && at[1 + length] == '"';
            at = blank(after(at));
            if (same) return at;
        } else if (wanted-- == 0) {
            return at;
        }
    }
    return NULL;
}

static const char *find(const char *path) {
    const char *text = current();
    const char *at = text ? blank(text) : NULL;
    while (at && *path) {
        size_t length = strcspn(path, ".");
        at = child(at, path, length);
        path += length + (path[length] == '.');
    }
    return at;
}

static int truth(const char *path) {
    const char *at = find(path);
    return at && *at == 't';
}

static int number(const char *path, u64 *out) {
    const char *at = find(path);
    if (!at || !((*at >= '0' && *at <= '9') || *at == '-')) return NOT_SUPPORTED;
    *out = *at == '-' ? (u64)strtoll(at, NULL, 10) : strtoull(at, NULL, 10);
    return OK;
}

static int text(const char *path, char *out, unsigned room) {
    const char *at = find(path);
    if (!at || *at != '"') return NOT_SUPPORTED;
    size_t length = strcspn(at + 1, "\"");
    if (length + 1 > room) return TOO_SMALL;
    memcpy(out, at + 1, length);
    out[length] = 0;
    return OK;
}

/* Handles: a card's number, and a MIG instance's within it; they hold nothing that a changed scenario makes false */

static void *handle_of(int card, int mig) { return (void *)(size_t)((card + 1) * SLOTS + mig + 1); }
static int card_of(void *handle) { return (int)((size_t)handle / SLOTS) - 1; }
static int mig_of(void *handle) { return (int)((size_t)handle % SLOTS) - 1; }

static const char *place(char *path, void *handle, const char *key) {
    if (mig_of(handle) >= 0)
        snprintf(path, 160, "cards.%d.mig.%d%s%s", card_of(handle), mig_of(handle), *key ? "." : "", key);
    else
        snprintf(path, 160, "cards.%d%s%s", card_of(handle), *key ? "." : "", key);
    return path;
}

static int told(const char *where, const char *function) { /* what the scenario wants of this function there */
    char path[160];
    u64 value;
    snprintf(path, sizeof path, "%sfunctions.%s.latency_ms", where, function);
    if (number(path, &value) == OK) usleep((useconds_t)value * 1000);
    snprintf(path, sizeof path, "%sfunctions.%s.hang", where, function);
    while (truth(path)) usleep(20000);
    snprintf(path, sizeof path, "%sfunctions.%s.error", where, function);
    return number(path, &value) == OK ? (int)value : OK;
}

static int enter(const char *function) {
    int result = told("", function);
    return result ? result : started > 0 ? OK : UNINITIALIZED;
}

static int enter_card(const char *function, void *handle) {
    char path[160];
    int result = enter(function);
    if (result) return result;
    if (card_of(handle) < 0 || !find(place(path, handle, ""))) return INVALID;
    snprintf(path, sizeof path, "cards.%d.", card_of(handle));
    if ((result = told(path, function))) return result;
    snprintf(path, sizeof path, "cards.%d.lost", card_of(handle));
    return truth(path) ? LOST : OK;
}

static int count(const char *path) {
    char item[160];
    int n = 0;
    for (snprintf(item, sizeof item, "%s.0", path); find(item); snprintf(item, sizeof item, "%s.%d", path, n)) n++;
    return n;
}

#define ENTER do { int failed = enter(__func__); if (failed) return failed; } while (0)
#define ENTER_CARD(d) char path[160]; do { int failed = enter_card(__func__, d); if (failed) return failed; } while (0)

static int small(const char *path, unsigned *out) {
    u64 value;
    int result = number(path, &value);
    if (!result) *out = (unsigned)value;
    return result;
}

/* The library itself */

int nvmlInitWithFlags(unsigned flags) {
    int result = told("", "nvmlInit_v2");
    (void)flags;
    if (!result && !current()) result = 9; /* DRIVER_NOT_LOADED */
    if (!result) started++;
    return result;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { ENTER; started--; return OK; }
const char *nvmlErrorString(int code) { return code == LOST ? "GPU is lost" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char *out, unsigned room) { ENTER; return text("driver", out, room); }
int nvmlSystemGetNVMLVersion(char *out, unsigned room) { return text("nvml", out, room); } /* before init too */
int nvmlSystemGetCudaDriverVersion_v2(int *out) { ENTER; return small("cuda", (unsigned *)out); }
int nvmlDeviceGetCount_v2(unsigned *out) { ENTER; *out = (unsigned)count("cards"); return OK; }

/* Finding cards */

int nvmlDeviceGetHandleByIndex_v2(unsigned n, void **out) {
    ENTER_CARD(handle_of((int)n, -1));
    (void)path;
    *out = handle_of((int)n, -1);
    return OK;
}

static int by_text(const char *key, const char *wanted, void **out) {
    char path[160], found[96];
    for (int card = 0; card < count("cards"); card++) {
        snprintf(path, sizeof path, "cards.%d.mig", card);
        for (int mig = -1; mig < count(path); mig++) {
            void *handle = handle_of(card, mig);
            char where[160];
            if (text(place(where, handle, key), found, sizeof found) == OK && strcasecmp(found, wanted) == 0) {
                *out = handle;
                return OK;
            }
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    ENTER;
    int result = by_text("uuid", uuid, out);
    return result ? result : enter_card(__func__, *out);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **out) {
    ENTER;
    int result = by_text("pci", bus, out);
    return result ? result : enter_card(__func__, *out);
}

/* One value of a card: the key is the scenario's */

#define TEXT(function, key) \
    int function(void *d, char *out, unsigned room) { ENTER_CARD(d); return text(place(path, d, key), out, room); }
#define SMALL(function, key) \
    int function(void *d, unsigned *out) { ENTER_CARD(d); return small(place(path, d, key), out); }
#define LARGE(function, key) \
    int function(void *d, u64 *out) { ENTER_CARD(d); return number(place(path, d, key), out); }
#define PAIR(function, one, two) \
    int function(void *d, unsigned *a, unsigned *b) { \
        ENTER_CARD(d); \
        int result = small(place(path, d, one), a); \
        return result ? result : small(place(path, d, two), b); \
    }

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
SMALL(nvmlDeviceGetMinorNumber, "minor")
SMALL(nvmlDeviceGetNumaNodeId, "numa_node")
SMALL(nvmlDeviceGetPersistenceMode, "persistence")
SMALL(nvmlDeviceGetPowerUsage, "power_mw")
SMALL(nvmlDeviceGetEnforcedPowerLimit, "power_limit_mw")
SMALL(nvmlDeviceGetFanSpeed, "fan")
SMALL(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.generation")
SMALL(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
SMALL(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.max_generation")
SMALL(nvmlDeviceGetMaxPcieLinkWidth, "pcie.max_width")
SMALL(nvmlDeviceGetComputeMode, "compute_mode")
SMALL(nvmlDeviceGetArchitecture, "architecture")
SMALL(nvmlDeviceGetMaxMigDeviceCount, "mig_maximum")
SMALL(nvmlDeviceGetGpuInstanceId, "gi")
SMALL(nvmlDeviceGetComputeInstanceId, "ci")
LARGE(nvmlDeviceGetCurrentClocksEventReasons, "clock_reasons")
LARGE(nvmlDeviceGetCurrentClocksThrottleReasons, "clock_reasons")
LARGE(nvmlDeviceGetTotalEnergyConsumption, "energy_mj")
PAIR(nvmlDeviceGetCudaComputeCapability, "capability.0", "capability.1")
PAIR(nvmlDeviceGetMigMode, "mig_mode", "mig_mode")
PAIR(nvmlDeviceGetEccMode, "ecc_mode", "ecc_mode")
int nvmlDeviceGetUtilizationRates(void *d, unsigned out[2]) {
    ENTER_CARD(d);
    int result = small(place(path, d, "utilization"), &out[0]);
    return result ? result : small(place(path, d, "utilization_memory"), &out[1]);
}

int nvmlDeviceGetIndex(void *d, unsigned *out) { ENTER_CARD(d); (void)path; *out = (unsigned)card_of(d); return OK; }
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *out) {
    ENTER_CARD(d);
    return sensor ? INVALID : small(place(path, d, "temperature"), out);
}
static int clock_of(void *d, char *path, const char *table, int kind, unsigned *out) {
    static const char *names[] = {"graphics", "sm", "memory", "video"};
    char key[40];
    if (kind < 0 || kind > 3) return INVALID;
    snprintf(key, sizeof key, "%s.%s", table, names[kind]);
    return small(place(path, d, key), out);
}
int nvmlDeviceGetClockInfo(void *d, int kind, unsigned *out) { ENTER_CARD(d); return clock_of(d, path, "clocks", kind, out); }
int nvmlDeviceGetMaxClockInfo(void *d, int kind, unsigned *out) {
    ENTER_CARD(d);
    return clock_of(d, path, "max_clocks", kind, out);
}
int nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *out) {
    ENTER_CARD(d);
    return small(place(path, d, counter ? "pcie.received_kib" : "pcie.sent_kib"), out);
}

int nvmlDeviceGetPciInfo_v3(void *d, pci_info *out) {
    ENTER_CARD(d);
    memset(out, 0, sizeof *out);
    int result = text(place(path, d, "pci"), out->bus_id, sizeof out->bus_id);
    if (result) return result;
    sscanf(out->bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    snprintf(out->legacy, sizeof out->legacy, "%04x:%02x:%02x.0", out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
    return OK;
}

/* Memory: the first call counts what the driver keeps for itself as used, as NVIDIA's does */

static int memory(void *d, char *path, memory_v2 *out) {
    int result = number(place(path, d, "memory.total"), &out->total);
    if (!result) result = number(place(path, d, "memory.used"), &out->used);
    out->reserved = 0;
    number(place(path, d, "memory.reserved"), &out->reserved);
    out->free = out->total - out->used - out->reserved;
    return result;
}
int nvmlDeviceGetMemoryInfo(void *d, memory_v1 *out) {
    memory_v2 all;
    ENTER_CARD(d);
    int result = memory(d, path, &all);
    if (!result) *out = (memory_v1){all.total, all.free, all.used + all.reserved};
    return result;
}
int nvmlDeviceGetMemoryInfo_v2(void *d, memory_v2 *out) { ENTER_CARD(d); return memory(d, path, out); }

int nvmlDeviceGetTotalEccErrors(void *d, int kind, int counter, u64 *out) {
    ENTER_CARD(d);
    (void)counter;
    return number(place(path, d, kind ? "ecc.uncorrected" : "ecc.corrected"), out);
}
int nvmlDeviceGetRemappedRows(void *d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
    ENTER_CARD(d);
    int result = small(place(path, d, "remapped.corrected"), corrected);
    if (!result) result = small(place(path, d, "remapped.uncorrected"), uncorrected);
    if (!result) *pending = (unsigned)truth(place(path, d, "remapped.pending"));
    if (!result) *failed = (unsigned)truth(place(path, d, "remapped.failed"));
    return result;
}

/* MIG */

int nvmlDeviceIsMigDeviceHandle(void *d, unsigned *out) { ENTER_CARD(d); (void)path; *out = mig_of(d) >= 0; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned n, void **out) {
    ENTER_CARD(d);
    void *instance = handle_of(card_of(d), (int)n);
    if (n >= SLOTS - 1 || !find(place(path, instance, ""))) return NOT_FOUND;
    *out = instance;
    return OK;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *d, void **out) {
    ENTER_CARD(d);
    (void)path;
    *out = handle_of(card_of(d), -1);
    return mig_of(d) >= 0 ? OK : INVALID;
}

/* How cards are joined */

int nvmlDeviceGetTopologyCommonAncestor(void *one, void *two, int *out) {
    ENTER_CARD(one);
    snprintf(path, sizeof path, "topology.%d.%d", card_of(one), card_of(two));
    return small(path, (unsigned *)out);
}
int nvmlDeviceGetNvLinkState(void *d, unsigned link, int *out) {
    char key[40];
    ENTER_CARD(d);
    snprintf(key, sizeof key, "nvlinks.%u", link);
    if (!find(place(path, d, key))) return NOT_SUPPORTED;
    snprintf(key, sizeof key, "nvlinks.%u.active", link);
    *out = truth(place(path, d, key));
    return OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned link, pci_info *out) {
    char key[40];
    ENTER_CARD(d);
    memset(out, 0, sizeof *out);
    snprintf(key, sizeof key, "nvlinks.%u.remote", link);
    return text(place(path, d, key), out->bus_id, sizeof out->bus_id);
}

/* Processes: a memory that the scenario does not give is "not available", all ones */

static int processes(void *d, char *path, const char *key, unsigned *room, process_info *out) {
    char table[160], item[200];
    strcpy(table, place(path, d, key));
    unsigned there = (unsigned)count(table), has_room = *room;
    *room = there;
    if (there > has_room) return TOO_SMALL;
    for (unsigned n = 0; n < there; n++) {
        out[n] = (process_info){0, ~0ULL, ~0U, ~0U};
        snprintf(item, sizeof item, "%s.%u.pid", table, n);
        small(item, &out[n].pid);
        snprintf(item, sizeof item, "%s.%u.memory", table, n);
        number(item, &out[n].memory);
    }
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *room, process_info *out) {
    ENTER_CARD(d);
    return processes(d, path, "processes", room, out);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *room, process_info *out) {
    ENTER_CARD(d);
    return processes(d, path, "graphics_processes", room, out);
}

/* Events: each set hears all of the scenario's, in their order, once */

int nvmlEventSetCreate(void **out) { ENTER; *out = calloc(1, sizeof(int)); return OK; }
int nvmlEventSetFree(void *set) { free(set); return OK; }
int nvmlDeviceRegisterEvents(void *d, u64 types, void *set) { ENTER_CARD(d); (void)path, (void)types, (void)set; return OK; }
int nvmlDeviceGetSupportedEventTypes(void *d, u64 *out) { ENTER_CARD(d); (void)path; *out = 8; return OK; }
int nvmlEventSetWait_v2(void *set, event_data *out, unsigned wait_ms) {
    int *heard = set;
    ENTER;
    for (unsigned waited_ms = 0;; waited_ms += 10) {
        char path[80];
        u64 card;
        snprintf(path, sizeof path, "events.%d.card", *heard);
        if (number(path, &card) == OK) {
            *out = (event_data){handle_of((int)card, -1), 8, 0, ~0U, ~0U};
            snprintf(path, sizeof path, "events.%d.type", *heard);
            number(path, &out->type);
            snprintf(path, sizeof path, "events.%d.data", *heard);
            number(path, &out->data);
            (*heard)++;
            return OK;
        }
        if (waited_ms >= wait_ms) return TIMEOUT;
        usleep(10000);
    }
}
