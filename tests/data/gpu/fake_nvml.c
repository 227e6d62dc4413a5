/* A synthetic libnvidia-ml for tests: no GPU, no driver. What it does is read from the file named by FAKE_NVML
 * ("key=value" lines) at every call, so a test can change it while it is loaded; what it was asked is appended to
 * the file named there as "log". Signatures and codes: NVIDIA nvml.h.
 *
 * Compile with -DOLD_DRIVER for a library that lacks what newer drivers added. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *device_t;
typedef unsigned long long u64;

enum { OK, UNINITIALIZED, INVALID = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, LOST = 15, MISMATCH = 18 };

static long loaded_in = -1; /* driver generation this copy of the library belongs to */
static long open_in = -1;   /* generation of the handles; -1 before nvmlInit */
static int device_file = -1;

static int setting(const char *key, char *value, size_t size)
{
    FILE *file = fopen(getenv("FAKE_NVML") ? getenv("FAKE_NVML") : "/nonexistent", "r");
    char line[512];
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        size_t length = strlen(key);
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            line[strcspn(line, "\n")] = 0;
            snprintf(value, size, "%s", line + length + 1);
            found = 1;
        }
    }
    if (file) fclose(file);
    return found;
}

static long number(const char *key, long otherwise)
{
    char value[512];
    return setting(key, value, sizeof value) ? atol(value) : otherwise;
}

static void note(const char *format, ...)
{
    char path[512];
    FILE *file = setting("log", path, sizeof path) ? fopen(path, "a") : NULL;
    va_list more;
    if (!file) return;
    va_start(more, format);
    vfprintf(file, format, more);
    va_end(more);
    fputc('\n', file);
    fclose(file);
}

static void told_to_end(int signal_number) { note("sigterm %d", signal_number); _exit(0); }

static void hang(void)
{
    signal(SIGTERM, number("ignore_sigterm", 0) ? SIG_IGN : told_to_end);
    note("hanging %d", getpid());
    for (;;) pause();
}

/* Every call on a device comes through here. */
static int at(device_t device, const char *call)
{
    long index = (long)device - 1;
    char only[512];
    if (open_in < 0) return UNINITIALIZED;
    if (open_in != number("generation", 0)) return MISMATCH;
    usleep(1000 * number("delay_ms", 0));
    if (index == number("hang_device", -1) && (!setting("hang_call", only, sizeof only) || !strcmp(only, call))) hang();
    if (index == number("crash_device", -1) || number("crash_devices", 0)) abort();
    if (index == number("lost_device", -1)) return LOST;
    if (number("trace", 0)) note("call %ld %s", index, call);
    return OK;
}

#define AT(call) do { int code = at(device, call); if (code) return code; } while (0)
#define UNLESS_SUPPORTED() do { if (number("unsupported", 0)) return NOT_SUPPORTED; } while (0)
static unsigned blank(unsigned otherwise) { return number("blanks", 0) ? 0xFFFFFFFFu : otherwise; }

int nvmlInitWithFlags(unsigned flags)
{
    char path[512];
    (void)flags;
    if (loaded_in < 0) loaded_in = number("generation", 0);
    note(open_in < 0 ? "init" : "init while open");
    if (number("hang_init", 0)) hang();
    if (number("crash_init", 0)) abort();
    if (number("library_of_its_driver", 0) && loaded_in != number("generation", 0)) return MISMATCH;
    open_in = number("generation", 0);
    if (setting("device_file", path, sizeof path)) device_file = open(path, O_RDONLY);
    if (number("chatter", 0)) { puts("NVRM says hello"); fflush(stdout); }
    return OK;
}

int nvmlShutdown(void)
{
    if (open_in < 0) return UNINITIALIZED;
    note("shutdown");
    open_in = -1;
    if (device_file >= 0) close(device_file);
    device_file = -1;
    return OK;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    if (open_in < 0) return UNINITIALIZED;
    snprintf(out, size, "999.0%ld", open_in);
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
    if (open_in < 0) return UNINITIALIZED;
    if (open_in != number("generation", 0)) return MISMATCH;
    *out = (unsigned)number("count", 4);
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t *out)
{
    if (open_in < 0) return UNINITIALIZED;
    if ((long)index == number("no_handle", -1)) return LOST;
    *out = (device_t)(long)(index + 1);
    return OK;
}

int nvmlDeviceGetUUID(device_t device, char *out, unsigned size)
{
    AT("uuid");
    snprintf(out, size, "GPU-0000000%ld-0000-0000-0000-000000000000", (long)device - 1);
    return OK;
}

int nvmlDeviceGetName(device_t device, char *out, unsigned size)
{
    AT("name");
    snprintf(out, size, "Synthetic \x1b[31mH100");
    return OK;
}

struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(device_t device, struct pci *out)
{
    AT("pci");
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02lX:00.0", 0x18 + (long)device);
    return OK;
}

struct memory { u64 total, free, used; };
int nvmlDeviceGetMemoryInfo(device_t device, struct memory *out)
{
    AT("memory");
    UNLESS_SUPPORTED();
    *out = (struct memory){80ull << 30, 60ull << 30, number("blanks", 0) ? 9223372036854775794ull : 20ull << 30};
    return OK;
}

struct rates { unsigned gpu, memory; };
int nvmlDeviceGetUtilizationRates(device_t device, struct rates *out)
{
    AT("utilisation");
    UNLESS_SUPPORTED();
    *out = (struct rates){blank(93), blank(41)};
    return OK;
}

#define NUMBER(function, call, type, value) \
    int function(device_t device, type *out) { AT(call); *out = (value); return OK; }
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie", unsigned, blank(4))
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie", unsigned, blank(8))
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie", unsigned, blank(5))
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie", unsigned, blank(16))
NUMBER(nvmlDeviceGetPcieReplayCounter, "replays", unsigned, blank(67))
NUMBER(nvmlDeviceGetPowerUsage, "power", unsigned, blank(67740))
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power", unsigned, blank(700000))
#ifdef OLD_DRIVER
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle", u64, 0x88)
#else
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, "throttle", u64, number("blanks", 0) ? ~0ull : 0x88)
#endif

int nvmlDeviceGetTemperature(device_t device, int sensor, unsigned *out)
{
    AT("temperature");
    *out = sensor ? 0 : blank(29);
    return OK;
}

int nvmlDeviceGetClockInfo(device_t device, int which, unsigned *out)
{
    AT("clock");
    *out = blank(which == 2 ? 2619 : 86);
    return OK;
}

int nvmlDeviceGetMaxClockInfo(device_t device, int which, unsigned *out)
{
    AT("clock");
    *out = blank(which == 2 ? 2619 : 1980);
    return OK;
}

int nvmlDeviceGetMigMode(device_t device, unsigned *current, unsigned *pending)
{
    AT("mig");
    *current = *pending = (unsigned)number("mig", 0);
    return OK;
}

int nvmlDeviceGetEccMode(device_t device, int *current, int *pending)
{
    AT("ecc");
    *current = *pending = 1;
    return OK;
}

int nvmlDeviceGetTotalEccErrors(device_t device, int type, int counter, u64 *out)
{
    AT("ecc");
    *out = number("blanks", 0) ? 9223372036854775794ull : (u64)(type ? 2 : 5 + counter);
    return OK;
}

int nvmlDeviceGetNvLinkState(device_t device, unsigned link, unsigned *out)
{
    AT("nvlink");
    if (link >= 18) return INVALID;
    *out = (long)link != number("link_down", -1);
    return OK;
}

struct process { unsigned pid; u64 memory; unsigned instance, compute; };
int nvmlDeviceGetComputeRunningProcesses_v3(device_t device, unsigned *count, struct process *out)
{
    AT("processes");
    if ((long)device != 1) { *count = 0; return OK; }
    if (!out) { *count = 2; return INSUFFICIENT_SIZE; }
    out[0] = (struct process){1234, 512ull << 20, ~0u, ~0u};
    out[1] = (struct process){1235, ~0ull, ~0u, ~0u};
    *count = 2;
    return OK;
}

#ifndef OLD_DRIVER
int nvmlDeviceGetRemappedRows(device_t device, unsigned *fixed, unsigned *lost, unsigned *pending, unsigned *failed)
{
    AT("rows");
    *fixed = blank(1), *lost = blank(2), *pending = 1, *failed = 0;
    return OK;
}

struct value { unsigned field, scope; long long when, took; int type, code; union { double d; u64 u; } value; };
int nvmlDeviceGetFieldValues(device_t device, int count, struct value *values)
{
    AT("values");
    for (int i = 0; i < count; i++) {
        values[i].code = values[i].field == 164 && values[i].scope >= 18 ? INVALID : OK;
        values[i].type = 3; // unsigned long long
        values[i].value.u = blank(values[i].field == 82 ? 39 : 26562);
    }
    return OK;
}

struct fabric { unsigned version; unsigned char cluster[16]; int status; unsigned clique; unsigned char state; unsigned health; };
int nvmlDeviceGetGpuFabricInfoV(device_t device, struct fabric *out)
{
    AT("fabric");
    out->status = 0, out->clique = 7, out->state = (unsigned char)number("fabric_state", 3);
    memset(out->cluster, 0xAB, sizeof out->cluster);
    return OK;
}
#endif
