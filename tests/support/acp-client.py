"""A client of the Agent Client Protocol, of the Python library `agent-client-protocol`, which checks each message that it gets
with its own models: prompts an agent, answers what it asks, cancels, lists and loads, and prints what it was told.

Usage: acp-client.py OPTION PROMPT COMMAND...   OPTION: the name of the permission option to choose
"""

import asyncio
import json
import os
import sys

import acp
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

option, prompt, *command = sys.argv[1:]


class Editor:
    def __init__(self):
        self.kinds, self.text, self.questions = [], "", []
        self.asked, self.cancelled = asyncio.Event(), asyncio.Event()

    async def session_update(self, session_id, update, **_):
        self.kinds.append(update.session_update)
        if update.session_update in ("agent_message_chunk", "user_message_chunk"):
            self.text += update.content.text

    async def request_permission(self, session_id, tool_call, options, **_):
        self.questions.append(tool_call.title)
        if "cancelled" in tool_call.title:
            self.asked.set()
            await self.cancelled.wait()
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next(one.option_id for one in options if one.name == option)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    def take(self):
        taken = {"kinds": sorted(set(self.kinds)), "text": self.text, "questions": self.questions}
        self.kinds, self.text, self.questions = [], "", []
        return taken

    def on_connect(self, _):
        pass


async def main():
    editor, seen = Editor(), {}
    async with acp.spawn_agent_process(editor, *command, env=dict(os.environ)) as (agent, process):
        started = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        seen["initialize"] = started.model_dump(by_alias=True, exclude_none=True)
        session = (await agent.new_session(cwd="/", mcp_servers=[])).session_id
        say = lambda text: agent.prompt(session_id=session, prompt=[acp.text_block(text)])
        seen["prompt"] = {"stop": (await say(prompt)).stop_reason, **editor.take()}
        asking = asyncio.ensure_future(say("wait\nASK what is cancelled"))
        await editor.asked.wait()
        await agent.cancel(session_id=session)
        editor.cancelled.set()
        seen["cancel"] = {"stop": (await asking).stop_reason}
        editor.take()
        listed = (await agent.list_sessions()).sessions
        seen["listed"] = [one.session_id == session for one in listed]
        await agent.load_session(cwd="/", session_id=session, mcp_servers=[])
        seen["load"] = editor.take()
        try:
            await agent.load_session(cwd="/", session_id="nobody", mcp_servers=[])
        except acp.RequestError as error:
            seen["refused"] = error.code
        process.stdin.close()
        seen["exit"] = await asyncio.wait_for(process.wait(), 30)
    print(json.dumps(seen))


asyncio.run(main())
