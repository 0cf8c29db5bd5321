/** Addresses of servers, as people have them. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Address from "../../src/openenv/Address.ts"

const http = (given: string) => Result.getOrThrow(Address.parse(given)).http

describe("Address", () => {
  const forms = [
    ["localhost:8000", "http://localhost:8000"],
    [" http://localhost:8000/ ", "http://localhost:8000"],
    ["http://localhost:8000/docs", "http://localhost:8000"],
    ["http://localhost:8000/web/", "http://localhost:8000"],
    ["http://127.0.0.1:8000/schema?x=1#y", "http://127.0.0.1:8000"],
    ["ws://localhost:8000/ws", "http://localhost:8000"],
    ["wss://example.com/ws", "https://example.com"],
    ["https://example.com/envs/echo/", "https://example.com/envs/echo"],
    ["https://example.com/envs/echo/reset", "https://example.com/envs/echo"],
    ["example.com", "http://example.com"],
    ["[::1]:8000", "http://[::1]:8000"],
    ["HTTP://LOCALHOST:8000", "http://localhost:8000"],
    ["https://huggingface.co/spaces/OpenEnv/echo_env", "https://openenv-echo-env.hf.space"],
    ["hf.co/spaces/openenv/echo_env/tree/main", "https://openenv-echo-env.hf.space"],
    ["https://openenv-echo-env.hf.space", "https://openenv-echo-env.hf.space"]
  ] as const
  it.each(forms)("reads %s", (given, root) => {
    assert.deepStrictEqual(Result.getOrThrow(Address.parse(given)), {
      http: root,
      socket: `${root.replace(/^http/, "ws")}/ws`
    })
  })

  const wrong = [
    ["", /no address/],
    ["ftp://localhost", /begins with ftp:\/\//],
    ["http://", /not a URL of a server/],
    ["8000", /no host: .* use localhost:8000$/],
    [":8000", /no host: .* use localhost:8000$/],
    ["two words", /not a URL of a server/],
    ["https://user:secret@example.com", /OPENENV_TOKEN/],
    ["https://huggingface.co/openenv/echo_env", /is not a Space/]
  ] as const
  it.each(wrong)("says what is wrong with %j", (given, why) => {
    const said = Result.getOrThrow(Result.flip(Address.parse(given)))
    assert.match(said, why)
    assert.notInclude(said, "secret")
  })

  it.prop(
    "reads again what it read",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))],
    ([port]) => {
      const { socket } = Result.getOrThrow(Address.parse(`host:${port}`))
      assert.strictEqual(http(socket), `http://host:${port}`.replace(/:80$/, ""))
    }
  )
})
