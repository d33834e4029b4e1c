"""Serves streamed chat completions, by the name of the model, on a free port of the loopback interface.

The argument is a JSON file {"name": [[call, …], …]}: a chunk for each list, with these parts of tool calls.
After the result of a tool it says "done".
"""
import http.server
import json
import sys

STREAMS = json.load(open(sys.argv[1]))


class Chat(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answered = any(m["role"] == "tool" for m in request["messages"])
        deltas = [{"role": "assistant", "content": None}]
        if answered:
            deltas = [{"role": "assistant", "content": "done"}]
        else:
            deltas += [{"tool_calls": calls} for calls in STREAMS[request["model"]]]
        chunks = [{"index": 0, "delta": d, "finish_reason": None} for d in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": "stop" if answered else "tool_calls"})
        body = ""
        for choice in chunks:
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
            body += "data: " + json.dumps({**chunk, "choices": [choice]}) + "\n\n"
        body = (body + "data: [DONE]\n\n").encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chat)
print(server.server_port, flush=True)
server.serve_forever()
