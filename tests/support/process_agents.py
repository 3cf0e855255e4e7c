"""What a provider starts that drives an agent: a program as stubborn as those are."""

# An agent: it ignores SIGTERM and SIGHUP, and so do a child in a session of its own and one that is orphaned besides.
AGENT = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
pids = [os.getpid()]
def descend(orphan):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if orphan and os.fork():
            os._exit(0)
        os.write(writer, str(os.getpid()).encode())
        os.close(writer)
        time.sleep(3600)
        os._exit(0)
    os.close(writer)
    pids.append(int(os.read(reader, 20)))
    if orphan:
        os.waitpid(child, 0)
descend(False)
descend(True)
print(*pids, flush=True)
time.sleep(3600)
"""
