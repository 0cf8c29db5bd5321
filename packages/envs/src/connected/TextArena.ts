/**
 * Plays TextArena games (Python) with one or more players: puzzles, board and card games, negotiations, deductions.
 *
 * The policy plays every seat (self-play), or one of them against `Opponent`s (`--opponent.*`), rotating seats over the
 * items. Each seat of the policy is its own sequence, scored by the game's reward for that player. A seat sees only
 * what the game shows its player since its last turn. All rollouts of a group start from the same seed. Needs Python
 * with the package (docs/python.md).
 */
import { Environment, Message, SeededRandom, ServerManager } from "@atropos/core"
import * as Opponent from "../kit/Opponent.ts"
import * as Players from "../kit/Players.ts"
import { Effect, Schema, Stream } from "effect"
import * as Bridge from "../python/Bridge.ts"
import * as PythonSettings from "../python/PythonSettings.ts"

const packageName = "textarena"
const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const settings = Environment.settings({
  ...PythonSettings.worldFields,
  game: Environment.field(
    Schema.NonEmptyString,
    "TicTacToe-v0",
    "name of the game for textarena.make; atropos envs textarena --list shows all"
  ),
  kwargs: Environment.field(
    Schema.Record(Schema.String, Schema.Unknown),
    {},
    'arguments of textarena.make, such as {"max_turns": 20}'
  ),
  players: Environment.field(positive, 2, "players of the game"),
  opponents: Environment.field(
    Schema.Literals(["self", "model"]),
    "self",
    "player of the other seats: the policy itself, or the model of --opponent.base_url"
  ),
  instructions: Environment.field(
    Schema.String,
    "You are a competitive game player. Read the rules and answer with your move in the form that they ask for.",
    "system prompt of every seat; if empty, none"
  ),
  maxTurns: Environment.field(positive, 100, "maximum turns of a game, over all seats")
})

interface State {
  readonly episode: number
  readonly player: number
  readonly text: string
  /** The game's reward per player, once it is over. */
  readonly rewards?: ReadonlyArray<number>
}

interface Item {
  readonly index: number
  readonly seed: number
}

const Info = Schema.Struct({ shape: Schema.Literal("game") })
const Look = { player: Schema.Int, text: Schema.String }
const Reset = Schema.Struct({ episode: Schema.Int, ...Look })
const Stepped = Schema.Union([
  Schema.Struct({ isOver: Schema.Literal(true), rewards: Schema.Array(Schema.Finite) }),
  Schema.Struct({ isOver: Schema.Literal(false), ...Look })
])
const Closed = Schema.Struct({})

export const layer = Environment.layer("textarena", settings, (selected) =>
  Effect.gen(function* () {
    const { game, groupSize, instructions, kwargs, maxTurns, opponents, players } = selected
    const servers = yield* ServerManager.ServerManager
    const opponent = opponents === "model" ? Opponent.player(yield* Opponent.required) : undefined
    const bridge = yield* Bridge.make({
      words: yield* PythonSettings.words(selected.python, packageName),
      kind: packageName,
      packageName,
      name: game,
      config: { kwargs, players },
      info: Info
    })
    const rules: Players.SeatedGame<State, Effect.Error<ReturnType<typeof bridge.call>>> = {
      seats: players,
      maxTurns,
      toMove: ({ player, rewards }) => (rewards === undefined ? player : undefined),
      opening: ({ text }) => [...(instructions === "" ? [] : [Message.system(instructions)]), Message.user(text)],
      observation: ({ text }) => text,
      step: (state, _, answer) =>
        Effect.map(bridge.call("step", { episode: state.episode, action: answer }, Stepped), (stepped) =>
          stepped.isOver ? { ...state, rewards: stepped.rewards } : { ...state, ...stepped }
        ),
      // A truncated play has no loser.
      returns: ({ rewards }) => rewards ?? Array.from({ length: players }, () => 0)
    }
    const play = Effect.fnUntraced(
      function* ({ index, seed }: Item, sampling: Omit<Players.PlayOptions<State>, "players">) {
        const start = yield* Effect.acquireRelease(bridge.call("reset", { seed }, Reset), ({ episode }) =>
          // An interpreter that has exited has closed the episode, too.
          Effect.ignore(bridge.call("close", { episode }, Closed))
        )
        return yield* Players.play(rules, start, {
          ...sampling,
          players: Array.from({ length: players }, (_, seat) =>
            opponent === undefined || seat === index % players ? ("policy" as const) : opponent
          ),
          maxTokens: Math.min(selected.maxAnswerTokens, selected.maxTokenLength)
        })
      },
      Effect.scoped,
      Effect.provideService(ServerManager.ServerManager, servers)
    )
    const plays = (item: Item, count: number, sampling: Omit<Players.PlayOptions<State>, "players">) =>
      Effect.map(
        Effect.forEach(
          Array.from({ length: count }).keys(),
          (at) => play(item, { ...sampling, seed: Players.seedOf(item.seed, at) }),
          { concurrency: "unbounded" }
        ),
        Players.grouped
      )
    const itemAt = (index: number): Item => ({
      index: Math.abs(index),
      seed: SeededRandom.seeded(selected.seed, index).between(0, 2 ** 30)
    })

    return {
      ...(opponent === undefined &&
        players > 1 && { scoresPerEpisode: "one for each seat (opponents: self; opponents: model plays one seat)" }),
      items: (cursor: number) => bridge.items(Stream.map(Stream.range(cursor, Number.MAX_SAFE_INTEGER), itemAt)),
      collectTrajectories: (item: Item) =>
        Effect.map(plays(item, groupSize, { temperature: selected.temperature }), ({ groups }) => ({ groups })),
      evaluation: {
        items: Stream.range(1, selected.evaluationItems).pipe(
          Stream.map((index) => itemAt(-index)),
          bridge.items
        ),
        collectTrajectories: (item: Item) =>
          Effect.map(plays(item, 1, { temperature: 0, split: "eval" }), ({ groups }) => ({
            trajectories: groups.flatMap(({ trajectories }) => trajectories),
            scores: groups.flatMap(({ scores = [] }) => scores)
          })),
        isCorrect: (score: number) => score > 0
      },
      id: ({ seed }: Item) => [game, seed],
      label: ({ seed }: Item) => `${game} ${seed}`,
      claims: { untestable: "results are only known by playing" }
    }
  })
)
