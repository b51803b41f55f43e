"""A client of the Agent Client Protocol, protocol 1, of the standard library alone: prompts one agent and prints what it was told.

Usage: acp-client.py OPTION PROMPT COMMAND...   OPTION: the name of the permission option to choose
"""

import json
import subprocess
import sys

option, prompt, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
seen = {"updates": [], "text": "", "questions": []}


def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def call(number, method, **params):
    send(id=number, method=method, params=params)
    for line in server.stdout:
        message = json.loads(line)
        if message.get("method") == "session/update":
            update = message["params"]["update"]
            seen["updates"].append(update["sessionUpdate"])
            if update["sessionUpdate"] == "agent_message_chunk":
                seen["text"] += update["content"]["text"]
        elif message.get("method") == "session/request_permission":
            params = message["params"]
            seen["questions"].append(params["toolCall"]["title"])
            chosen = next(one["optionId"] for one in params["options"] if one["name"] == option)
            send(id=message["id"], result={"outcome": {"outcome": "selected", "optionId": chosen}})
        elif message.get("id") == number:
            return message.get("result", {"error": message.get("error")})
    raise SystemExit("the server has ended")


seen["initialize"] = call(0, "initialize", protocolVersion=1, clientCapabilities={})
session = call(1, "session/new", cwd="/", mcpServers=[])["sessionId"]
seen["answer"] = call(
    2, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": prompt}]
)
server.stdin.close()
seen["exit"] = server.wait(timeout=30)
print(json.dumps(seen))
