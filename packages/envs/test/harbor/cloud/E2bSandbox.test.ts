/** A sandbox of E2B against a stand-in that takes what the published documents allow. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Fiber, Option, Redacted, Result, Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Waits from "../../../../core/test/base/Waits.ts"
import * as E2bApi from "../../../src/harbor/cloud/E2bApi.ts"
import * as E2bSandbox from "../../../src/harbor/cloud/E2bSandbox.ts"
import * as StandIn from "./StandIn.ts"

const nothing: StandIn.Execute = () => Promise.resolve({ exitCode: 0 })

const begun = Effect.fnUntraced(function* (execute: StandIn.Execute, key = StandIn.key) {
  const server = yield* StandIn.make(execute)
  const account = { key: Redacted.make(key), platform: server.url, sandboxes: server.url }
  const api = yield* Effect.provide(E2bApi.make(account), FetchHttpClient.layer)
  const usage: E2bSandbox.Usage = { sandboxes: 0, seconds: 0 }
  const options = { api, template: "base", hasNetwork: false, env: { A: "1" }, workdir: "/app", task: "t", usage }
  return { server, api, usage, open: E2bSandbox.scoped(options) }
})

describe("E2bSandbox", () => {
  it.live("is secure, offline and leased, and ends with its scope", () =>
    Effect.gen(function* () {
      const { open, server, usage } = yield* begun(nothing)
      yield* Effect.scoped(open)
      const [sandbox] = server.sandboxes.values()
      assert.deepStrictEqual(sandbox!.asked, {
        templateID: "base",
        timeout: 180,
        secure: true,
        allow_internet_access: false,
        metadata: { atropos: "t" }
      })
      assert.isFalse(sandbox!.isAlive)
      assert.strictEqual(usage.sandboxes, 1)
      assert.isAtLeast(usage.seconds, 0)
    }).pipe(Effect.scoped)
  )

  it.effect("extends its lease every minute while it is open, also after one that failed", () =>
    Effect.gen(function* () {
      const { open, server } = yield* begun(nothing)
      server.failures.set("POST /sandboxes/ID/timeout", [{ status: 400, message: "no" }])
      const scope = yield* Scope.make()
      yield* Scope.provide(open, scope)
      const extended = () => server.requests.filter((one) => one === "POST /sandboxes/ID/timeout").length
      for (const count of [1, 2]) {
        yield* TestClock.adjust("1 minute")
        yield* Waits.until(`${count} extensions`, Effect.sync(extended), (one) => one === count)
      }
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.scoped)
  )

  it.live("runs a command with its variables, its input and its user, and returns what it printed", () =>
    Effect.gen(function* () {
      const ran: Array<StandIn.Process> = []
      const { open } = yield* begun((_, process) => {
        ran.push(process)
        return Promise.resolve({ stdout: Buffer.from("größe\n"), stderr: Buffer.from("oh\n"), exitCode: 3 })
      })
      const sandbox = yield* open
      const printed = yield* sandbox.run({ script: "make", env: { B: "2" }, seconds: 9 })
      assert.deepStrictEqual(printed, { ending: { _tag: "Exited", code: 3 }, stdout: "größe\n", complaint: "oh" })
      assert.deepInclude(ran[0], { cmd: "sh", envs: { A: "1", B: "2" }, cwd: "/app" })
      assert.deepStrictEqual(ran[0]!.args.slice(-2), ["make", "9"])
      yield* sandbox.run({ script: "cat", input: "words", user: "user" }, "/")
      assert.match(ran[1]!.args[1]!, /^exec "\$@" <\/tmp/)
      assert.strictEqual(ran[1]!.cwd, "/")
    }).pipe(Effect.scoped)
  )

  it.live("keeps files, and tells missing ones apart", () =>
    Effect.gen(function* () {
      const { open } = yield* begun(nothing)
      const sandbox = yield* open
      const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256)
      yield* sandbox.write("/app/a b/ü.bin", bytes)
      assert.deepStrictEqual(yield* sandbox.read("/app/a b/ü.bin"), Option.some(bytes))
      assert.deepStrictEqual(yield* sandbox.read("/app/none"), Option.none())
    }).pipe(Effect.scoped)
  )

  it.live("ends what prints too much, and what is interrupted", () =>
    Effect.gen(function* () {
      const { open, server } = yield* begun(async (_, { args }, killed) => {
        if (args.includes("print")) return { stdout: Buffer.alloc(11_000_000), exitCode: 0 }
        await killed
        return {}
      })
      const sandbox = yield* open
      const { ending } = yield* sandbox.run({ script: "print" })
      assert.deepStrictEqual(ending, { _tag: "Stopped", why: "printed more than 10000000 bytes" })
      const count = (end: string) => server.requests.filter((one) => one.endsWith(end)).length
      assert.strictEqual(count("/SendSignal"), 1)
      // Its process is known once its first message has come.
      const interrupted = Effect.gen(function* () {
        const before = count("/Start")
        const waiting = yield* Effect.forkChild(sandbox.run({ script: "wait" }))
        yield* Waits.until(
          "a command",
          Effect.sync(() => count("/Start")),
          (one) => one > before
        )
        yield* Fiber.interrupt(waiting)
        return count("/SendSignal")
      })
      yield* Waits.until("a signal", interrupted, (signals) => signals > 1)
    }).pipe(Effect.scoped)
  )

  it.live("reports a killed command as a shell does", () =>
    Effect.gen(function* () {
      const { open } = yield* begun(() => Promise.resolve({}))
      const { ending } = yield* (yield* open).run({ script: "x" })
      assert.deepStrictEqual(ending, { _tag: "Exited", code: 137 })
    }).pipe(Effect.scoped)
  )

  it.live("repeats what creates nothing, and creates no second sandbox", () =>
    Effect.gen(function* () {
      const { open, server } = yield* begun(nothing)
      server.failures.set("DELETE /sandboxes/ID", [{ status: 500, message: "busy" }])
      server.failures.set("POST /files", [{ status: 502, message: "away" }])
      yield* Effect.scoped(Effect.flatMap(open, (sandbox) => sandbox.write("/a", Uint8Array.of(1))))
      assert.strictEqual(server.requests.filter((one) => one === "DELETE /sandboxes/ID").length, 2)
      assert.strictEqual(server.requests.filter((one) => one === "POST /files").length, 2)
      server.failures.set("POST /sandboxes", [{ status: 503, message: "no room" }])
      const refused = yield* Effect.result(Effect.scoped(open))
      assert.include(Result.isFailure(refused) ? refused.failure.message : "", "template base: 503 no room")
      assert.strictEqual(server.sandboxes.size, 1)
    }).pipe(Effect.scoped)
  )

  it.live("names a key that is wrong or missing, and a sandbox that has ended", () =>
    Effect.gen(function* () {
      const { open } = yield* begun(nothing, "other")
      const refused = yield* Effect.result(Effect.scoped(open))
      assert.include(Result.isFailure(refused) ? refused.failure.message : "", "401 invalid API key")
      const none = E2bApi.account.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({}))))
      assert.include((yield* Effect.flip(none)).message, "set E2B_API_KEY")
      const other = yield* begun(nothing)
      const sandbox = yield* other.open
      for (const one of other.server.sandboxes.values()) one.isAlive = false
      const gone = yield* Effect.flip(sandbox.run({ script: "x" }))
      assert.include(gone.message, "in the sandbox s1: 404 sandbox s1 not found")
    }).pipe(Effect.scoped)
  )
})
