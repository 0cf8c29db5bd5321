/**
 * Runs episodes of an OpenEnv server over its socket (`/ws`).
 *
 * An episode becomes a chat in one of three ways: texts (a field or template of the observation, a field of the
 * action), the tools of an MCP environment, or custom functions (`make`). Runs as many concurrent sessions as the
 * server accepts. All rollouts of a group start from the same seed, and are not compared if the server starts them
 * differently. Fields that hold an answer never reach the policy. The score is the sum of the server's rewards
 * (docs/openenv.md).
 */
import { Environment, SeededRandom, ServerManager } from "@atropos/core"
import { Config, Duration, Effect, Option, Redacted, Result, Stream } from "effect"
import * as Acting from "../openenv/Acting.ts"
import * as Address from "../openenv/Address.ts"
import type { Connection, Observed } from "../openenv/Connection.ts"
import * as Described from "../openenv/Described.ts"
import * as Episodes from "../openenv/Episodes.ts"
import { make as failed, type OpenEnvError } from "../openenv/OpenEnvError.ts"
import { type Settings, settings } from "../openenv/OpenEnvSettings.ts"
import * as Sessions from "../openenv/Sessions.ts"
import * as Telling from "../openenv/Telling.ts"
import * as Visible from "../openenv/Visible.ts"

export { settings }

/** Convert a server's observations and actions to and from chat messages, in place of the settings. */
export interface Functions {
  /**
   * Formats an observation for the model; hidden fields are already removed; `turn` is 0 at the reset. Default: the
   * setting `observation`.
   */
  readonly observe?: (observation: Observed["observation"], turn: number) => string
  /**
   * Parses the action of an answer, whose thinking is included; undefined if it has none. Default: the settings
   * `action_field`, `action_extra` and `tag`.
   */
  readonly act?: (answer: string, observation: Observed["observation"]) => Acting.Action | undefined
}

interface Item {
  readonly seed: number
}

type Sampling = { readonly seed: number; readonly temperature: number; readonly split?: "eval" }
type Play = (
  connection: Connection,
  seed: number,
  sampling: Sampling
) => Effect.Effect<Episodes.Played, OpenEnvError | ServerManager.InferenceError, ServerManager.ServerManager>

const settled = <A>(result: Result.Result<A, string>): Effect.Effect<A, OpenEnvError> =>
  Effect.mapError(Effect.fromResult(result), (message) => failed("settings", message))

/** Chooses how episodes are played from the settings, the functions and the server's schema. */
const playing = Effect.fnUntraced(function* (
  selected: Settings,
  { act, observe }: Functions,
  described: Described.Described,
  onInvalid: Episodes.Rules["onInvalid"]
): Effect.fn.Return<Play, OpenEnvError> {
  const isHidden = Visible.isHiddenBy(selected.hiddenFields)
  const rules: Episodes.Rules = {
    ...selected,
    isHidden,
    onInvalid,
    maxTokens: Math.min(selected.maxAnswerTokens, selected.maxTokenLength)
  }
  const hasTools = selected.mode === "tools" || (selected.mode === "auto" && described.hasTools && act === undefined)
  const template = Telling.template(selected.observation, described, isHidden)
  // A task with tools may be described in the settings only.
  const isUntold = hasTools && selected.observation === null && Result.isFailure(template)
  if (isUntold && observe === undefined && selected.instructions === "") {
    return yield* failed("settings", `the model has no task: ${template.failure}, or set it with --env.instructions`)
  }
  const whole = observe !== undefined || isUntold ? "" : yield* settled(template)
  const observed: Episodes.Chat["observe"] = ({ observation }, turn) =>
    observe === undefined
      ? settled(Telling.notice(whole, observation, isHidden))
      : Effect.sync(() => observe(Visible.fields(observation, isHidden), turn))
  const field =
    act !== undefined || (hasTools && selected.actionField === null)
      ? undefined
      : yield* settled(Acting.field(selected, described))
  const acted: Episodes.Chat["act"] = (answer, { observation }) =>
    act !== undefined
      ? act(answer, Visible.fields(observation, isHidden))
      : field && Acting.action(answer, field, selected)
  if (!hasTools) {
    const chat = { observe: observed, act: acted }
    return (connection, seed, sampling) => Episodes.inWords(connection, seed, chat, rules, sampling)
  }
  const chat = { observe: observed, ...(field && { answer: (text: string) => Acting.action(text, field, selected) }) }
  return (connection, seed, sampling) => Episodes.withTools(connection, seed, chat, rules, sampling)
})

/** The authorization header from `OPENENV_TOKEN`, for servers that require one. */
const headersOf = Effect.map(Config.option(Config.Redacted("OPENENV_TOKEN")), (token) =>
  Option.match(token, {
    onNone: (): { readonly [name: string]: string } => ({}),
    onSome: (bearer) => ({ authorization: `Bearer ${Redacted.value(bearer)}` })
  })
)

const definition = Effect.fnUntraced(function* (selected: Settings, functions: Functions) {
  const servers = yield* ServerManager.ServerManager
  const address = yield* settled(Address.parse(selected.url))
  const headers = yield* headersOf
  const described = yield* Described.ask(address, headers, selected.timeout * 1000)
  let invalid = 0
  const onInvalid = (answer: string) =>
    Effect.suspend(() =>
      invalid++ > 0
        ? Effect.void
        : Effect.logWarning("answer without an action that the server accepts; more are only counted", {
            server: address.http,
            answer: answer.slice(0, 200),
            action: described.action
          })
    )
  const play = yield* Effect.mapError(playing(selected, functions, described, onInvalid), (error) =>
    failed(error.reason, `${address.http}: ${error.message}`)
  )
  const sessions = yield* Sessions.make({
    address,
    headers,
    timeout: Duration.seconds(selected.timeout),
    limit: selected.sessions
  })
  const group = Effect.fnUntraced(
    function* ({ seed }: Item, count: number, sampling: Omit<Sampling, "seed">) {
      const played = yield* Effect.forEach(
        Array.from({ length: count }).keys(),
        (index) =>
          sessions.use((connection) =>
            play(connection, seed, { ...sampling, seed: SeededRandom.seeded(seed, index).between(0, 2 ** 30) })
          ),
        { concurrency: "unbounded" }
      )
      const starts = new Set(played.map(({ start }) => start))
      if (selected.sameStart && starts.size > 1) return yield* failed("settings", unlike(address, seed))
      return { trajectories: played.map(({ trajectory }) => trajectory), scores: played.map(({ score }) => score) }
    },
    Effect.provideService(ServerManager.ServerManager, servers)
  )
  const from =
    (first: number) =>
    (index: number): Item => ({ seed: first + index })
  return {
    items: (cursor: number) =>
      Stream.map(Stream.range(cursor, Number.MAX_SAFE_INTEGER - selected.seed), from(selected.seed)),
    collectTrajectories: (item: Item) =>
      Effect.map(group(item, selected.groupSize, { temperature: selected.temperature }), (one) => ({ groups: [one] })),
    evaluation: {
      items: Stream.map(Stream.range(0, selected.evaluationItems - 1), from(selected.evaluationSeed)),
      collectTrajectories: (item: Item) => group(item, 1, { temperature: 0, split: "eval" }),
      isCorrect: (score: number) => score > selected.solvedAbove
    },
    metrics: Effect.all({
      "openenv/sessions": sessions.limit,
      "openenv/full": sessions.refusals,
      "openenv/invalid_actions": Effect.sync(() => invalid)
    }),
    label: ({ seed }: Item) => `${address.http} seed ${seed}`,
    claims: { untestable: "the server scores" }
  }
})

const unlike = ({ http }: Address.Address, seed: number): string =>
  `${http} started the episodes of one group differently, although each was reset with the seed ${seed}, so their scores are not comparable. Pass reset the fields that determine the item (--env.reset '{"…": …}'), or set --env.same_start false to compare different items`

/** An OpenEnv environment with custom functions; its settings are those of `openenv`. */
export const make = (name: string, functions: Functions = {}) =>
  Environment.layer(name, settings, (selected) => definition(selected, functions))

export const layer = make("openenv")
