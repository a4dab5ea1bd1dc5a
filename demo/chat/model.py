"""A scripted model that reads the context and records an answer word by word."""

import asyncio

import httpx

from demo.chat.server import AGENT_KEY

_PAUSE_SECONDS = 0.06
_LINES = {
    "may": "In May, Lisbon is warm and not yet full. Take the tram to Graça for the view, and stay"
    " for the sunset: everybody else does, and brings something to eat.",
    "november": "In November I would go to Seville. The heat is gone, the oranges are on the trees,"
    " and in the evening there is always a bar with somebody who sings.",
}
_OTHERWISE = (
    "I only know a few lines by heart, but I stream them word by word: reload the page while I"
    " speak, and you will not miss a word."
)


async def answer(api: str, conversation: str) -> None:
    """Answer the last message of a conversation, until somebody cancels."""
    headers = {"x-api-key": AGENT_KEY}
    path = f"/v1/agent/conversations/{conversation}"
    async with httpx.AsyncClient(base_url=api, headers=headers, timeout=30) as client:
        context = (await client.get(f"{path}/context?tail=true&limit=1")).json()
        asked = str(context["messages"][-1]["content"]).lower() if context["messages"] else ""
        line = next((text for word, text in _LINES.items() if word in asked), _OTHERWISE)
        recording = (await client.post(f"{path}/response", json={"store": True})).json()
        piece = f"{path}/response/{recording['recordingId']}"
        for word in line.split(" "):
            await asyncio.sleep(_PAUSE_SECONDS)
            state = await client.post(piece, json={"content": f"{word} "})
            if state.status_code != 200 or state.json()["cancelRequested"]:
                break
        await client.post(piece, json={"complete": True})
