/**
 * Runs the session of a client: one episode at a time, with sequential resets and steps. A running episode ends with
 * the scope, or with the next reset.
 */
import { ExactJson, Uuid } from "@atropos/core"
import { Driven } from "@atropos/envs"
import { Effect, Exit, Schema, Scope, Semaphore } from "effect"
import * as Actions from "./Actions.ts"
import * as Observations from "./Observations.ts"

/** The parameters of a reset; others are ignored, as by OpenEnv's servers. */
const Reset = Schema.Struct({
  seed: Schema.optionalKey(Schema.NullOr(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)))),
  episode_id: Schema.optionalKey(Schema.NullOr(Schema.NonEmptyString.check(Schema.isMaxLength(255))))
})
const decodeReset = Schema.decodeUnknownEffect(Reset)

export interface State {
  readonly episode_id: string | null
  readonly step_count: number
}

export interface Session {
  readonly reset: (input: unknown) => Effect.Effect<Observations.Observed, Driven.DrivenError | Actions.ActionError>
  readonly step: (input: unknown) => Effect.Effect<Observations.Observed, Driven.DrivenError | Actions.ActionError>
  /** Tools of the current turn; before a reset, those of the first item. */
  readonly tools: Effect.Effect<Pick<Driven.Asked, "tools">>
  readonly state: Effect.Effect<State>
}

export const make = Effect.fnUntraced(function* (
  environment: Driven.DrivenEnvironment,
  first: Pick<Driven.Asked, "tools">
): Effect.fn.Return<Session, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const one = yield* Semaphore.make(1)
  let episode: { readonly running: Driven.DrivenEpisode; readonly scope: Scope.Closeable } | undefined
  let state: State = { episode_id: null, step_count: 0 }
  let request = first

  const remember = (turn: Driven.Turn): Driven.Turn => {
    if (!turn.isOver) request = turn
    return turn
  }
  const reset = Effect.fn("openenv.reset")(function* (input: unknown) {
    const { episode_id: id, seed } = yield* Effect.mapError(
      decodeReset(ExactJson.plain(input ?? {})),
      ({ message }) => new Actions.ActionError({ message: `Invalid message: reset: ${message}`, errors: [] })
    )
    if (episode !== undefined) yield* Scope.close(episode.scope, Exit.void)
    episode = undefined
    const own = yield* Scope.fork(scope)
    const running = yield* environment.reset(typeof seed === "number" ? { item: seed } : {}).pipe(
      Scope.provide(own),
      Effect.onError(() => Scope.close(own, Exit.void))
    )
    episode = { running, scope: own }
    state = { episode_id: id ?? Uuid.v4(), step_count: 0 }
    return Observations.ofTurn(remember(running.first))
  })
  const step = Effect.fn("openenv.step")(function* (input: unknown) {
    const action = yield* Actions.decode(input)
    if (action.kind === "list_tools") return Observations.ofTools(request)
    if (episode === undefined) {
      return yield* new Driven.DrivenError({ isRefused: false, message: "no episode is open: start one with reset" })
    }
    const turn = remember(yield* episode.running.step(action.reply))
    state = { ...state, step_count: state.step_count + 1 }
    return action.kind === "message" ? Observations.ofTurn(turn) : Observations.ofCall(action.tool, turn)
  })
  return {
    reset: (input) => one.withPermits(1)(reset(input)),
    step: (input) => one.withPermits(1)(step(input)),
    tools: Effect.sync(() => request),
    state: Effect.sync(() => state)
  }
})
