/**
 * Plays Gymnasium environments (Python) with discrete or text actions, in text.
 *
 * Each turn shows an observation through a template; the model answers with an action between `<action>` tags: a
 * number, or a name if `actions` defines them. An answer without a valid action ends the episode with `invalid_reward`.
 * The score is the sum of the rewards. All rollouts of a group start from the same seed; random draws are up to the
 * environment. Needs Python with the package (docs/python.md).
 */
import { Environment, Message, SeededRandom, ServerManager } from "@atropos/core"
import * as Episode from "../kit/Episode.ts"
import * as NumberAnswer from "../verify/Number.ts"
import * as Thinking from "../kit/Thinking.ts"
import { Effect, Schema, Stream } from "effect"
import * as Bridge from "../python/Bridge.ts"
import * as PythonSettings from "../python/PythonSettings.ts"

export const settings = Environment.settings({
  ...PythonSettings.worldFields,
  world: Environment.field(
    Schema.NonEmptyString,
    "Blackjack-v1",
    "name of the environment for gymnasium.make; atropos envs gymnasium --list shows all"
  ),
  kwargs: Environment.field(
    Schema.Record(Schema.String, Schema.Unknown),
    {},
    'arguments of gymnasium.make, such as {"is_slippery": false}'
  ),
  packageName: Environment.field(
    Schema.NonEmptyString,
    "gymnasium[toy-text]",
    "pip package of this environment, for uv and for the error if it is missing"
  ),
  instructions: Environment.field(
    Schema.NullOr(Schema.String),
    null,
    "system prompt; if unset, it states the environment, its observations and its actions"
  ),
  observation: Environment.field(
    Schema.NonEmptyString,
    "Observation: {observation}",
    "message to the model each turn; {observation} is the environment's observation"
  ),
  actions: Environment.field(
    Schema.Array(Schema.NonEmptyString),
    [],
    "names of the actions, in the environment's order, such as stick, hit; without them actions are numbers"
  ),
  invalidReward: Environment.field(Schema.Finite, -1, "reward of an answer without an action, which ends the episode"),
  maxTurns: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 50, "maximum turns of an episode"),
  solvedAbove: Environment.field(Schema.Finite, 0, "a score above this counts as solved")
})

interface State {
  readonly episode: number
  readonly text: string
}

interface Item {
  readonly seed: number
}

const Info = Schema.Struct({
  shape: Schema.Literal("world"),
  actions: Schema.NullOr(Schema.Struct({ count: Schema.Int, start: Schema.Int })),
  observation: Schema.String
})
type Info = typeof Info.Type

const Reset = Schema.Struct({ episode: Schema.Int, text: Schema.String })
const Stepped = Schema.Struct({ text: Schema.String, reward: Schema.Finite, isOver: Schema.Boolean })
const Closed = Schema.Struct({})

/** The text between the last `<action>` and the next `</action>`, if closed. */
const lastTagged = (text: string): string | undefined => {
  const tags = Array.from(text.matchAll(/<(\/?)action>/gi))
  const opened = tags.findLastIndex(([, slash], at) => slash === "" && tags[at + 1]?.[1] === "/")
  const [open, close] = [tags[opened], tags[opened + 1]]
  return open === undefined || close === undefined
    ? undefined
    : text.slice(open.index + open[0].length, close.index).trim()
}

/** The action of an answer: the last one between tags, after the thinking. */
export const actionOf = (answer: string, { actions }: Pick<Info, "actions">, names: ReadonlyArray<string>) => {
  const reply = lastTagged(Thinking.visibleText(answer))
  if (reply === undefined || actions === null) return reply
  const place = names.findIndex((name) => name.toLowerCase() === reply.toLowerCase())
  const written = NumberAnswer.asciiSigns(reply)
  const number = place === -1 ? (/^-?\d{1,9}$/.test(written) ? Number(written) : undefined) : place + actions.start
  return number !== undefined && number >= actions.start && number < actions.start + actions.count ? number : undefined
}

const written = ({ actions }: Info, names: ReadonlyArray<string>): string =>
  actions === null
    ? "any text"
    : Array.from({ length: actions.count }, (_, at) => names[at] ?? String(actions.start + at)).join(", ")

export const layer = Environment.layer("gymnasium", settings, (selected) =>
  Effect.gen(function* () {
    const { actions, groupSize, instructions, invalidReward, kwargs, maxTurns, observation, packageName, world } =
      selected
    const servers = yield* ServerManager.ServerManager
    const bridge = yield* Bridge.make({
      words: yield* PythonSettings.words(selected.python, packageName),
      kind: "gymnasium",
      packageName,
      name: world,
      config: { kwargs },
      info: Info
    })
    const observe = (text: string): string => observation.replaceAll("{observation}", () => text)
    const system = (info: Info): string =>
      instructions ??
      `You act in the world ${world}. Observations are of the kind ${info.observation}. Every turn choose one of these actions: ${written(info, actions)}. Answer like this: <action>${written(info, actions).split(",")[0]}</action>`

    const live = Effect.fnUntraced(
      function* ({ seed }: Item, sampling: Episode.Sampling) {
        const info = yield* bridge.info
        const start = yield* Effect.acquireRelease(bridge.call("reset", { seed }, Reset), ({ episode }) =>
          // An interpreter that has exited has closed the episode, too.
          Effect.ignore(bridge.call("close", { episode }, Closed))
        )
        const step = (state: State, answer: string) => {
          const action = actionOf(answer, info, actions)
          return action === undefined
            ? { state, reward: invalidReward, isOver: true, observation: "" }
            : Effect.map(
                bridge.call("step", { episode: state.episode, action }, Stepped),
                ({ isOver, reward, text }) => ({
                  state: { ...state, text },
                  reward,
                  isOver,
                  observation: observe(text)
                })
              )
        }
        const opening = ({ text }: State) => [Message.system(system(info)), Message.user(observe(text))]
        return yield* Episode.live({ opening, step, maxTurns }, start, {
          maxTokens: Math.min(selected.maxAnswerTokens, selected.maxTokenLength),
          ...sampling
        })
      },
      Effect.scoped,
      Effect.provideService(ServerManager.ServerManager, servers)
    )
    const group = (item: Item, count: number, sampling: Episode.Sampling) =>
      Effect.map(
        Effect.forEach(
          Array.from({ length: count }).keys(),
          (index) => live(item, { ...sampling, seed: SeededRandom.seeded(item.seed, index).between(0, 2 ** 30) }),
          { concurrency: "unbounded" }
        ),
        (episodes) => ({
          trajectories: episodes.map(({ trajectory }) => trajectory),
          scores: episodes.map(({ rewards }) => rewards.reduce((sum, reward) => sum + reward, 0))
        })
      )
    const itemAt = (index: number): Item => ({ seed: SeededRandom.seeded(selected.seed, index).between(0, 2 ** 30) })

    return {
      items: (cursor: number) => bridge.items(Stream.map(Stream.range(cursor, Number.MAX_SAFE_INTEGER), itemAt)),
      collectTrajectories: (item: Item) =>
        Effect.map(group(item, groupSize, { temperature: selected.temperature }), (one) => ({ groups: [one] })),
      evaluation: {
        items: Stream.range(1, selected.evaluationItems).pipe(
          Stream.map((index) => itemAt(-index)),
          bridge.items
        ),
        collectTrajectories: (item: Item) => group(item, 1, { temperature: 0, split: "eval" }),
        isCorrect: (score: number) => score > selected.solvedAbove
      },
      id: ({ seed }: Item) => [world, seed],
      label: ({ seed }: Item) => `${world} ${seed}`,
      claims: { untestable: "results are only known by stepping the environment" }
    }
  })
)
