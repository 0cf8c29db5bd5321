/** A gateway on a free port over a policy that follows a script, with the engine's own log of ids. */
import { assert } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import * as Gateway from "../../src/gateway/Gateway.ts"
import * as Scripted from "../../src/inference/backend/Scripted.ts"
import * as ServerManager from "../../src/inference/ServerManager.ts"
import * as Tokenizer from "../../src/inference/tokenizer/Tokenizer.ts"
import * as TokenLog from "./TokenLog.ts"

export interface Options extends Gateway.Options {
  readonly script: Scripted.Script
  readonly scripted?: Scripted.Options
  /** Whether the engine keeps all that it has sampled. Default true. */
  readonly isLogged?: boolean
}

export interface TestGateway {
  readonly gateway: Gateway.GatewayShape
  readonly log: ReadonlyArray<TokenLog.Sampled>
}

/** Runs a test with a gateway of its own. */
export const use = <A, E>(options: Options, test: (there: TestGateway) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.scoped(Effect.flatMap(build(options), test))

const build = ({ isLogged = true, script, scripted, ...options }: Options) =>
  Effect.gen(function* () {
    const policy = Scripted.make(script, Tokenizer.bytes, scripted)
    const { backend, log } = isLogged ? TokenLog.make(policy) : { backend: policy, log: [] }
    const servers = ServerManager.layerBackends([backend], { maxAttempts: 1 }).pipe(Layer.provide(Tokenizer.layerBytes))
    const context = yield* Layer.build(Layer.provide(Gateway.layer(options), servers))
    const gateway = yield* Effect.provideContext(Gateway.Gateway, context)
    return { gateway, log } satisfies TestGateway
  })

/** Every sequence of a session is made of the engine's own ids, and every sampled id is trained in exactly one. */
export const assertExact = Effect.fnUntraced(function* (
  session: Gateway.Session,
  log: ReadonlyArray<TokenLog.Sampled>
) {
  const trajectories = yield* session.trajectories
  for (const trajectory of trajectories) assert.strictEqual(TokenLog.difference(trajectory, log), undefined)
  assert.deepStrictEqual(
    TokenLog.coverage(trajectories, log),
    log.map(() => 1)
  )
  return trajectories
})

/** A call as a model of the Hermes family writes it. */
export const call = (name: string, value: unknown): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: value })}\n</tool_call>`

/** Asks a gateway without any SDK. */
export const post = (
  url: string,
  body: unknown,
  headers: Record<string, string> = {}
): Effect.Effect<{ readonly status: number; readonly text: string; readonly headers: Headers }> =>
  Effect.promise(async (signal) => {
    const answer = await fetch(url, {
      method: "POST",
      signal,
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body)
    })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  })
