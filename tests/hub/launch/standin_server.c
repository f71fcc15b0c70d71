/* A tiny server in place of JupyterLab: answers 200 to everything on port 8888 (asked for …/fill, it fills its memory
   until something ends it; for …/keep?name=word, it puts the word down in the home, the project and the environment
   and answers once the disk has it), or does what the file
   /opt/bancada/behaviour says: "refuse" prints the contract's line and exits with 78, "crash" exits with 3,
   "silent" never answers. Linked statically, it runs in an image that holds nothing else. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Made anew by every process: a server that answers with the same number is the same server, with its memory. */
static unsigned long long memory;

static void end(int signal) { (void)signal; _exit(0); }

static int put_down(const char *folder, const char *name, const char *word) {
    char path[256], line[80];
    snprintf(path, sizeof path, "%s/kept-%s", folder, name);
    int size = snprintf(line, sizeof line, "%s\n", word), file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0) return 0;
    int written = write(file, line, size) == size && fsync(file) == 0;
    return close(file) == 0 && written;
}

/* Returns the status to answer with. */
static const char *obey(const char *request) {
    char name[33], word[33];
    if (strstr(request, "/fill HTTP")) for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    if (sscanf(request, "GET %*[^? ]?%32[a-z-]=%32[a-z0-9]", name, word) != 2) return "200 OK";
    const char *home = getenv("HOME");
    int kept = home && put_down(home, name, word) && put_down("/project", name, word) && put_down("/opt/env", name, word);
    return kept ? "200 OK" : "500 Error";
}

static int serve(void) {
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(8888)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16)) return 4;
    for (;;) {
        char request[4096], answer[160], body[40];
        int length = snprintf(body, sizeof body, "{\"memory\": \"%016llx\"}", memory);
        int caller = accept(listener, NULL, NULL);
        if (caller < 0) continue;
        int got = read(caller, request, sizeof request - 1);
        if (got > 0) {
            request[got] = 0;
            int size = snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
                                obey(request), length, body);
            write(caller, answer, size);
        }
        close(caller);
    }
}

int main(void) {
    char behaviour[32] = "";
    FILE *file = fopen("/opt/bancada/behaviour", "r");
    signal(SIGTERM, end);
    if (file) {
        if (!fgets(behaviour, sizeof behaviour, file)) behaviour[0] = 0;
        fclose(file);
    }
    FILE *source = fopen("/dev/urandom", "r");
    if (source) {
        if (fread(&memory, sizeof memory, 1, source) != 1) memory = 1;
        fclose(source);
    }
    FILE *mark = fopen("/opt/env/started", "a");
    if (mark) {
        fputs("x", mark);
        fclose(mark);
    }
    if (!strncmp(behaviour, "refuse", 6)) {
        fputs("bancada-start-failed: read-only: The work environment came up read-only.\n", stderr);
        return 78;
    }
    if (!strncmp(behaviour, "crash", 5)) return 3;
    if (!strncmp(behaviour, "silent", 6)) for (;;) pause();
    return serve();
}
