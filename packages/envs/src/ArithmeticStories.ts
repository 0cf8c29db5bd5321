/**
 * Generates arithmetic word problems from templates, a seed and a difficulty; needs no download.
 *
 * "Mia has 12 apples. She buys 3 bags of 4 apples. How many apples does Mia have now?" is 24. A story has `difficulty`
 * steps, each an addition, subtraction or multiplication on a running total that stays a natural number. Reward 1 if
 * the number of the answer (in the last box, or after "answer is", else the last one) equals the total, else 0.
 */
import { Environment, Message, SeededRandom, ServerManager, type Trajectory } from "@atropos/core"
import * as NumberAnswer from "./verify/Number.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Effect, Schema, Stream } from "effect"

/** A step's sentence, and the total after it. */
interface Step {
  readonly sentence: string
  readonly total: number
}
type StepMaker = ((
  random: SeededRandom.SeededRandom,
  total: number,
  name: string,
  thing: string,
  largest: number
) => Step) & {
  readonly takesAway?: boolean
}

const takingAway = (make: StepMaker): StepMaker => Object.assign(make, { takesAway: true })

const steps: ReadonlyArray<StepMaker> = [
  (random, total, name, thing, largest) => {
    const more = random.between(1, largest)
    return { sentence: `${name} finds ${more} more ${thing}.`, total: total + more }
  },
  (random, total, name, thing, largest) => {
    const bags = random.between(2, 5)
    const each = random.between(1, largest)
    return { sentence: `${name} buys ${bags} bags with ${each} ${thing} in each.`, total: total + bags * each }
  },
  takingAway((random, total, name, thing) => {
    const fewer = random.between(1, total)
    return { sentence: `${name} gives away ${fewer} ${thing}.`, total: total - fewer }
  }),
  (_random, total, name, thing) => ({
    sentence: `A friend then gives ${name} as many ${thing} as ${name} has.`,
    total: total * 2
  })
]

const names = ["Mia", "Noah", "Ava", "Liam", "Zoe", "Omar", "Ines", "Kai", "Lena", "Ravi"]
const things = ["apples", "marbles", "stickers", "coins", "shells", "pencils", "cards", "beads"]

export interface Story {
  readonly question: string
  readonly answer: number
}

/** A story with its own sampling seed, so that a run is reproducible. */
interface Item extends Story {
  readonly samplingSeed: number
}

export const instructions = "Solve the problem. Think briefly, then give the final number as \\boxed{number}."
export const evaluationSeedOffset = 1_000_003

export const settings = Environment.settings({
  seed: Environment.field(Schema.Int, 0, "random seed for the problems"),
  difficulty: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 })),
    2,
    "steps per problem, 1 to 8"
  ),
  largestNumber: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 1000 })),
    20,
    "largest number in a step"
  ),
  evaluationItems: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 64, "held-out problems per evaluation"),
  temperature: Environment.field(Environment.nonNegative, 1, "sampling temperature for training rollouts"),
  // The vocabulary of `npm start` needs no download.
  tokenizerName: Environment.field(
    Schema.String,
    "bytes",
    "tokenizer: hub id or folder, or bytes for a byte-level one that needs no download"
  )
})
/** The problem number `index` of a seed. Pure, so that a cursor is enough to resume. */
export const story = ({
  difficulty,
  index,
  largestNumber,
  seed
}: {
  readonly seed: number
  readonly index: number
  readonly difficulty: number
  readonly largestNumber: number
}): Story => {
  const random = SeededRandom.seeded(seed, index)
  const name = random.pick(names)
  const thing = random.pick(things)
  let total = random.between(2, largestNumber)
  const sentences = [`${name} has ${total} ${thing}.`]
  for (let step = 0; step < difficulty; step++) {
    const next = random.pick(total > 1 ? steps : steps.filter(({ takesAway }) => !takesAway))(
      random,
      total,
      name,
      thing,
      largestNumber
    )
    sentences.push(next.sentence)
    total = next.total
  }
  return { question: `${sentences.join(" ")} How many ${thing} does ${name} have now?`, answer: total }
}

/** The number in the last box of a completion, else after the last "answer is", else the last number. */
export const parseAnswer = (completion: string): number | undefined => {
  const number = NumberAnswer.extract(completion)
  return number === undefined ? undefined : Number(number.replaceAll(",", ""))
}

export const layer = Environment.layer("arithmetic-stories", settings, (selected) =>
  Effect.gen(function* () {
    const { difficulty, evaluationItems, groupSize, largestNumber, maxTokenLength, seed, temperature } = selected
    const servers = yield* ServerManager.ServerManager
    const itemAt = (index: number, from: number): Item => ({
      ...story({ seed: from, index, difficulty, largestNumber }),
      samplingSeed: SeededRandom.seeded(from, index).between(0, 2 ** 31 - 1)
    })

    const ask = (item: Item, n: number, sampling: Pick<ServerManager.ChatRequest, "split" | "temperature">) =>
      servers.chat({
        messages: [Message.system(instructions), Message.user(item.question)],
        n,
        maxTokens: maxTokenLength,
        seed: item.samplingSeed,
        ...sampling
      })

    return {
      items: (cursor: number) =>
        Stream.range(cursor, Number.MAX_SAFE_INTEGER).pipe(Stream.map((index) => itemAt(index, seed))),
      collectTrajectories: (item: Item) => ask(item, groupSize, { temperature }),
      score: (item: Story, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(
          group.map(({ completion }) => ({
            score: parseAnswer(completion) === item.answer ? 1 : 0,
            ...SingleTurn.asRead(String(item.answer), NumberAnswer.extract(completion))
          }))
        ),
      evaluation: {
        items: Stream.range(0, evaluationItems - 1).pipe(
          Stream.map((index) => itemAt(index, seed + evaluationSeedOffset))
        ),
        collectTrajectories: (item: Item) => ask(item, 1, { split: "eval", temperature: 0 })
      },
      label: (item: Story) => item.question,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ answer }: Story) => [`\\boxed{${answer}}`, `So the answer is ${answer}.`],
        wrong: ({ answer }: Story) => [
          `\\boxed{${answer + 1}}`,
          `It was ${answer}, so \\boxed{${answer - 1}}`,
          "I do not know."
        ]
      }
    }
  })
)
