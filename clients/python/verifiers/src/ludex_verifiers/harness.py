"""Harness of the seats: a chat without tools, in the process of the evaluation."""

from __future__ import annotations

import verifiers.v1 as vf
from openai import AsyncOpenAI, OpenAIError
from verifiers.v1.clients import ModelContext
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.runtimes import ProgramResult, Runtime


class LudexHarnessConfig(vf.HarnessConfig):
    """Settings of the harness; it has none of its own."""


class LudexHarness(vf.Harness[LudexHarnessConfig]):
    """One call of the model for each request, where the harness `null` starts a process."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: ModelContext,
        trace: vf.Trace,
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> ProgramResult:
        """Call the model once; the endpoint records the reply in the trace."""
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [message_to_wire(message) for message in prompt or []]
        try:
            async with AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0) as client:
                await client.chat.completions.create(model=ctx.model, messages=messages)
        except OpenAIError as error:
            return ProgramResult(exit_code=1, stdout="", stderr=str(error))
        return ProgramResult(exit_code=0, stdout="", stderr="")
