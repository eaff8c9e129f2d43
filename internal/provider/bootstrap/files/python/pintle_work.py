"""What a handler has left running in this process when it returned: threads that it started.

It is told with the result, in the header HEADER, and once more when it has ended.
"""

import http.client
import os
import sys
import threading
import time

HEADER = "Pintle-Working"
LOOK = 0.5  # seconds between two looks


def threads():
    """The threads that run now, for left."""
    return set(threading.enumerate())


def idle(thread):
    """Whether the thread is one of a pool that waits for something to do."""
    frame = sys._current_frames().get(thread.ident)
    if frame is None:
        return not thread.is_alive()
    code = frame.f_code
    return code.co_name == "_worker" and code.co_filename.endswith(os.path.join("concurrent", "futures", "thread.py"))


def left(before):
    """The threads that were started since and still work."""
    return [t for t in threading.enumerate() if t not in before and t.is_alive() and not idle(t)]


def describe(running):
    text = "1 thread" if len(running) == 1 else "%d threads" % len(running)
    return text + " (" + ", ".join(t.name for t in running[:3]) + (", ..." if len(running) > 3 else "") + ")"


def watch(running, address, path):
    """Tells when the threads have ended, from a thread of its own."""

    def wait():
        while any(t.is_alive() and not idle(t) for t in running):
            time.sleep(LOOK)
        try:
            connection = http.client.HTTPConnection(address, timeout=10)
            connection.request("POST", path, b"")
            connection.getresponse().read()
            connection.close()
        except (OSError, http.client.HTTPException):
            pass  # this process is being ended

    threading.Thread(target=wait, name="pintle-work", daemon=True).start()
