/**
 * What recorded clients asked of OpenEnv's own servers, asked of ours: answers of the same kind with the same keys.
 */
import { assert, layer } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Schema } from "effect"
import { exchanges } from "../../../envs/test/openenv/Recording.ts"
import * as InProcess from "../InProcess.ts"
import * as Client from "./SocketClient.ts"

const own = exchanges.filter(({ env }) => env === "reasoning_gym_env")
const Keyed = Schema.Record(Schema.String, Schema.Any)
const keyed = Schema.decodeUnknownSync(Keyed)
const keysOf = (value: unknown): Array<string> => Object.keys(keyed(value)).toSorted()

const renamed = (given: unknown): unknown => {
  const fields = keyed(given)
  return fields["answer"] === undefined ? fields : { message: fields["answer"] }
}

/** Our action has its field under a name of its own. */
const translated = (request: unknown): unknown => {
  const { action, data, ...rest } = keyed(request)
  return {
    ...rest,
    ...(action !== undefined && { action: renamed(action) }),
    ...(data !== undefined && { data: renamed(data) })
  }
}

const served = Effect.gen(function* () {
  yield* InProcess.folder
  const command = yield* InProcess.start(["openenv", "--env", "addition", "--port", "0", "--sessions", "2"])
  const [, url] = yield* command.says(/OpenEnv server at (http:\/\/\S+?),/)
  return url!
})

layer(NodeServices.layer, { excludeTestServices: true })("recorded requests to atropos openenv", (it) => {
  it.effect("over HTTP have the same status and keys", () =>
    Effect.gen(function* () {
      const url = yield* served
      for (const { method, path, request, response, status } of own.filter(({ transport }) => transport === "http")) {
        // OpenEnv's episodes do not go on over HTTP; ours begin with a reset.
        if (path === "/state") continue
        const body = request === null ? {} : { body: JSON.stringify(translated(request)) }
        const answer = yield* Effect.promise(() => fetch(`${url}${path}`, { method: method!, ...body }))
        assert.strictEqual(answer.status, status, path)
        assert.deepStrictEqual(keysOf(yield* Effect.promise(() => answer.json())), keysOf(response), path)
      }
      const state = yield* Effect.promise(async () => (await fetch(`${url}/state`)).json())
      assert.includeMembers(keysOf(state), ["episode_id", "step_count"])
    })
  )

  it.effect("over a socket have answers of the same type, code and keys", () =>
    Effect.gen(function* () {
      const url = yield* served
      const session = yield* Client.open(url)
      for (const { note, request, response } of own.filter(({ transport }) => transport === "ws")) {
        if (note !== undefined) continue
        if (response === null) {
          yield* session.send(request)
          yield* session.closed
          continue
        }
        if (typeof request === "string") yield* session.say(request)
        else yield* session.send(translated(request))
        const reply = yield* session.next
        const recorded = keyed(response)
        assert.strictEqual(reply.type, recorded["type"])
        assert.strictEqual(reply.data["code"], recorded["data"].code)
        assert.deepStrictEqual(keysOf(reply.data), keysOf(recorded["data"]), JSON.stringify(request))
      }
    })
  )

  it.effect("one session too many is told what was recorded", () =>
    Effect.gen(function* () {
      const url = yield* served
      yield* Client.open(url)
      const one = yield* Client.open(url)
      yield* one.data("reset", {})
      const last = yield* Client.open(url)
      const recorded = keyed(own.find(({ note }) => note !== undefined)?.response)
      const reply = yield* last.next
      assert.strictEqual(reply.type, recorded["type"])
      assert.deepStrictEqual(keysOf(reply.data), keysOf(recorded["data"]))
      assert.strictEqual(reply.data["message"], recorded["data"].message.replaceAll("8", "2"))
    })
  )
})
