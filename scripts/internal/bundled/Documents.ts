/**
 * The pretraining documents of the bundled model: dialogues about arithmetic stories with students' answers (`Pupils`),
 * such dialogues with a calculator (`ToolPupils`), and lists of sums. Document i is a pure function of i.
 *
 * Stories have their own seed, and exclude the held-out ones of the environment under the seeds 0 to 31 (the first 256
 * of each, at each difficulty that occurs here).
 */
import { Message, SeededRandom } from "@atropos/core"
import { ArithmeticStories } from "@atropos/envs"
import * as Calculator from "../../../examples/19-calculator-agent.ts"
import * as Pupils from "./Pupils.ts"
import * as ToolPupils from "./ToolPupils.ts"

/** A chat with a continuation that is trained, wholly or in parts. */
export interface Document {
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools?: ReadonlyArray<unknown>
  /**
   * Pieces of the answer, each trained or not: in a list of sums only the results are. A tool's reply ends a turn and
   * starts the next one.
   */
  readonly answer: ReadonlyArray<{ readonly text: string; readonly isLearned: boolean; readonly from?: "tool" }>
}

const seed = 20_261_123
const largestNumber = 20
const heldOutSeeds = 32
const heldOutItems = 256
const difficulties = [1, 2, 3]

/** Questions that the model must not have seen. */
export const heldOut: ReadonlySet<string> = new Set(
  difficulties.flatMap((difficulty) =>
    Array.from({ length: heldOutSeeds }, (_, seed) =>
      Array.from(
        { length: heldOutItems },
        (_, index) =>
          ArithmeticStories.story({
            seed: seed + ArithmeticStories.evaluationSeedOffset,
            index,
            difficulty,
            largestNumber
          }).question
      )
    ).flat()
  )
)

const question = (index: number): string => {
  const random = SeededRandom.seeded(seed, index)
  const difficulty = random.pick([1, 2, 2, 2, 2, 3])
  // A held-out question is replaced by the next one.
  for (let attempt = 0; ; attempt++) {
    const at = { seed: seed + 1 + attempt, index, difficulty, largestNumber }
    const { question } = ArithmeticStories.story(at)
    if (!heldOut.has(question)) return question
  }
}

/** A dialogue about a story, usually with the environment's instructions; `hasty` of 100 students are hasty. */
export const story = (index: number, hasty: number): Document => {
  const random = SeededRandom.seeded(seed + 100, index)
  const asked = question(index)
  return {
    messages: [...(random.chance(0.5) ? [Message.system(ArithmeticStories.instructions)] : []), Message.user(asked)],
    answer: [{ text: Pupils.answer(random, asked, hasty), isLearned: true }]
  }
}

export const toolStory = (index: number, hasty: number): Document => {
  const random = SeededRandom.seeded(seed + 300, index)
  const asked = question(index)
  return {
    messages: [Message.system(Calculator.instructions), Message.user(asked)],
    tools: Calculator.tools,
    answer: ToolPupils.dialogue(random, asked, hasty).map(({ from, text }) =>
      from === "tool" ? { text, isLearned: false, from } : { text, isLearned: true }
    )
  }
}

const sum = (random: SeededRandom.SeededRandom): readonly [string, number] => {
  const large = () => random.between(1, random.pick([20, 60, 120, 240]))
  const small = () => random.between(1, random.pick([20, 20, 100]))
  const [a, b] = [large(), small()]
  switch (random.between(1, 7)) {
    case 1:
      return [`${a}+${a}=`, 2 * a]
    case 2: {
      const [bags, each] = [random.between(2, 5), random.between(1, 20)]
      return [`${bags}x${each}=`, bags * each]
    }
    case 3:
    case 4: {
      const less = random.between(1, a)
      return [`${a}-${less}=`, a - less]
    }
    default:
      return [`${a}+${b}=`, a + b]
  }
}

const sumsInAList = 12

export const sums = (index: number): Document => {
  const random = SeededRandom.seeded(seed + 200, index)
  return {
    messages: [Message.user("Do some sums.")],
    answer: Array.from({ length: sumsInAList }, (_, at) => {
      const [task, result] = sum(random)
      return [
        { text: `${at === 0 ? "" : " "}${task}`, isLearned: false },
        { text: `${result}.`, isLearned: true }
      ]
    }).flat()
  }
}

/** The whole text, for the tokenizer. */
export const textOf = ({ answer, messages }: Document): string =>
  [
    ...messages.map((message) => `${message.role}\n${Message.text(message)}\n`),
    "assistant\n",
    ...answer.map(({ text }) => text)
  ].join("")
