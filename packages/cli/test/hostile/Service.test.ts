/**
 * The service and an environment at it where addresses, tokens or what lies on disk are wrong: told clearly, nothing
 * lost.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as Atropos from "../crash/Atropos.ts"
import * as Ports from "../../../core/test/base/Ports.ts"
import * as Service from "../crash/Service.ts"
import * as Stories from "../crash/Stories.ts"
import * as InProcess from "../InProcess.ts"

/** Runs a command that cannot work, in this folder; the one line it said on standard error beside its log. */
const failsHere = Effect.fnUntraced(function* (words: string, env: Record<string, string> = {}) {
  const { code, stderr } = yield* InProcess.run(words.split(" "), env)
  assert.include([1, 2], code, stderr)
  assert.notInclude(stderr, "please report")
  assert.notInclude(stderr, "    at ")
  const line = /^atropos: .*$/m.exec(stderr)?.[0]
  assert.isDefined(line, stderr)
  return line ?? ""
})

/** The same, in a folder of its own. */
const fails = (words: string, env?: Record<string, string>) =>
  Effect.scoped(Effect.andThen(InProcess.folder, failsHere(words, env)))

const serve = (url: string) => `serve --env arithmetic-stories --testing --env.rollout_server_url ${url}`

layer(NodeServices.layer, { excludeTestServices: true })("the service", (it) => {
  it.effect("says why it cannot listen", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer.make(() => ({ json: {} }))
      const env = (yield* Service.fastest.make).env
      const { port } = new URL(url)
      const taken = yield* fails(`api --port ${port}`, env)
      assert.include(taken, `cannot listen on 127.0.0.1:${port}: the port is in use`)
      assert.include(yield* fails("api --port 80000", env), '--port: expected a port from 0 to 65535, got "80000"')
      assert.include(yield* fails("api --host 0.0.0.0 --port 0", env), "Set ATROPOS_TOKENS")
    })
  )

  it.effect("tells an environment which token it needs, and keeps the tokens to itself", () =>
    Effect.gen(function* () {
      const place = yield* Service.fastest.make
      const tokens = "trainer:trainers-secret,environment:environments-secret"
      const malformed = yield* fails("api --port 0", { ...place.env, ATROPOS_TOKENS: `${tokens},hush-hush` })
      assert.include(malformed, "ATROPOS_TOKENS, entry 3: expected role:token")
      assert.notInclude(malformed, "hush")

      const { process, url } = yield* Service.start({ env: { ...place.env, ATROPOS_TOKENS: tokens } })
      const without = yield* fails(serve(url))
      assert.include(without, "answered 401: a token is required")
      assert.include(without, "ATROPOS_TOKEN")
      assert.include(yield* fails(serve(url), { ATROPOS_TOKEN: "no-such-token" }), "unknown token")
      const trainer = yield* fails(serve(url), { ATROPOS_TOKEN: "trainers-secret" })
      assert.include(
        trainer,
        "answered 403: the role trainer is not allowed to do this: use a token with the role environment"
      )
      assert.notInclude(process.said() + without + trainer, "secret")
    })
  )
})

layer(NodeServices.layer, { excludeTestServices: true })("an environment", (it) => {
  it.effect("refuses a service that is something else", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer.make(() => ({ text: "<html>welcome</html>" }))
      assert.include(yield* fails(serve(url)), `${url}/v1/runs/default/environments sent an invalid answer`)
      assert.include(
        yield* fails(serve("localhost-8000")),
        "localhost-8000/v1/runs/default/environments is unreachable: Invalid URL"
      )
    })
  )

  it.effect("refuses a state in the service that something else has saved, and leaves it", () =>
    Effect.gen(function* () {
      const { client, url } = yield* Service.start(yield* Service.fastest.make)
      yield* client.registerRun(Stories.run)
      yield* client.claim({ owner: "trainer", wait: 0, lease: "1 second" })
      const state = { step: 0, value: { progress: "half" } }
      const states = client.savedStates
      yield* states.save("arithmetic-stories", state)
      const said = yield* fails(`${serve(url)} --env.group_size 2`)
      assert.include(said, "the state saved for environment arithmetic-stories is not valid")
      assert.include(said, "wandb_name")
      assert.deepStrictEqual((yield* states.load("arithmetic-stories")).valueOrUndefined, state)
    })
  )

  it.effect("rolls out again what a damaged spool file held, and loses nothing", () =>
    Effect.gen(function* () {
      const place = yield* Service.fastest.make
      const port = yield* Ports.held
      const cwd = yield* Atropos.folder
      const spool = join(cwd, "spool", "arithmetic-stories")
      /** The segment with groups in it, once it has some. */
      const segment = async () => {
        for (const name of await readdir(spool)) {
          const file = join(spool, name)
          if (name.endsWith(".spool") && (await stat(file)).size > 2000) return file
        }
        return undefined
      }
      const policy = yield* Stories.policy()
      const got: Stories.Got = { steps: [], stories: [] }
      // It has what it was sent then, and the environment spools it.
      const killAt = { of: "answered", when: "before", what: /^POST .*\/groups$/, nth: 3 } as const
      const service = yield* Service.start(place, { port, killAt })
      yield* service.client.registerRun(Stories.run)
      const where = { serviceUrl: service.url, policyUrl: policy.url, cwd, spool: "spool" }
      const training = yield* Effect.forkChild(Stories.train(service.client, got))

      const environment = yield* Stories.serve(where)
      yield* service.process.killed
      const file = yield* Effect.fromNullishOr(
        yield* Waits.until("groups in the spool", Effect.promise(segment), (found) => found !== undefined)
      )
      yield* environment.kill
      yield* Effect.promise(async () => {
        await writeFile(join(spool, "00000000-other.spool"), "nothing of ours")
        const bytes = await readFile(file)
        const middle = Math.floor(bytes.length * 0.6)
        await writeFile(file, bytes.fill(0xff, middle, middle + 20))
      })
      yield* Service.start(place, { port })
      const again = yield* Stories.serve(where)
      yield* Fiber.join(training)
      assert.strictEqual((yield* again.ended).code, 0)
      assert.include(again.said(), "moved an unreadable spool file aside")
      Stories.check(got)
    })
  )
})
