import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Laws, SeededRandom, ServerManager, Tokenizer } from "@atropos/core"
import { ItemSource, Mcqa } from "@atropos/envs"
import { Effect, Layer, Option, Result, Schema } from "effect"
import * as Bank from "../src/mcqa/Bank.ts"
import * as Form from "../src/mcqa/Form.ts"
import type { Question } from "../src/mcqa/Question.ts"
import type { Choices } from "../src/mcqa/Choices.ts"
import { fromRow, type Meaning } from "../src/mcqa/Row.ts"
import { claimed, echo, firstScores, heldOutLabels, labels, lawsHold, scoresOf } from "./TestItems.ts"

const rows = [
  { prompt: "Capital of France?", options: ["London", "Paris", "Rome"], answer: 1 },
  { prompt: "Capital of Italy?", options: ["London", "Paris", "Rome"], answer: "C" },
  { prompt: "Capital of England?", options: ["London", "Paris", "Rome"], answer: "London" }
]

const environment = (settings: Parameters<typeof Mcqa.layer>[0], script: ServerManager.Script = ["?"]) =>
  Mcqa.layer(settings).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, Dataset.layerMemory({ rows })])
  )

const bank = (kinds: ReadonlyArray<Bank.Kind>, choices = 4, largest = 100) => Bank.draw({ kinds, choices, largest })
const many = (kinds: ReadonlyArray<Bank.Kind>, count: number, choices = 4): ReadonlyArray<Question> =>
  Array.from({ length: count }, (_, index) => bank(kinds, choices)(SeededRandom.seeded(11, index)))

const dayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
const utc = (year: number, month: number, day = 1) => new Date(Date.UTC(year, month, day))
const monthName = (date: Date) => date.toLocaleString("en", { month: "long", timeZone: "UTC" })
const monthNumber = (name: string) =>
  Array.from({ length: 12 }, (_, month) => monthName(utc(2023, month))).indexOf(name)
const quotedIn = (question: string) => Array.from(question.matchAll(/"([^"]+)"/g), ([, inside = ""]) => inside)
const numbersIn = (question: string) => Array.from(question.matchAll(/\d+/g), Number)
const perUnit: { readonly [pair: string]: number } = {
  "minutes hours": 60,
  "seconds minutes": 60,
  "hours days": 24,
  "days weeks": 7,
  "months years": 12,
  "centimetres metres": 100,
  "millimetres centimetres": 10,
  "inches feet": 12,
  "eggs dozen": 12
}

/** Whether a choice answers a question, told from the words alone and in other ways than they were made. */
const answers = (question: string, texts: ReadonlyArray<string>, choice: string): boolean => {
  const [first = 0, second = 0] = numbersIn(question)
  const numbers = texts.map(Number)
  const [one = "", other = ""] = quotedIn(question)
  const distance = /\bone (?:day|month)\b/.test(question) ? 1 : first
  if (question.includes("×")) return Number(choice) === first * second
  if (question.includes("+")) return Number(choice) === first + second
  if (/\d - \d/.test(question)) return Number(choice) === first - second
  if (question.includes("largest")) return Number(choice) === Math.max(...numbers)
  if (question.includes("smallest")) return Number(choice) === Math.min(...numbers)
  if (question.includes("comes next")) {
    const shown = numbersIn(question)
    const [start = 0, then = 0, third = 0] = shown
    const isArithmetic = third - then === then - start
    const next = isArithmetic ? shown[3]! + shown[1]! - shown[0]! : (shown[3]! * shown[1]!) / shown[0]!
    return Number(choice) === next
  }
  if (question.startsWith("How many days has")) {
    const month = monthNumber(/has (\w+)/.exec(question)![1]!)
    return Number(choice) === utc(2023, month + 1, 0).getUTCDate()
  }
  if (question.startsWith("How many")) {
    const [, many = "", larger = ""] = /How many (\w+) are there in \d+ (\w+)\?/.exec(question)!
    return Number(choice) === first * perUnit[`${many} ${larger}`]!
  }
  if (question.startsWith("Which day")) {
    const from = dayNames.indexOf(/a (\w+)\?$/.exec(question)![1]!)
    // The first Sunday of 2023 was its first day.
    const date = utc(2023, 5, 4 + from + (question.includes("after") ? distance : -distance))
    return choice === dayNames[date.getUTCDay()]
  }
  if (question.startsWith("Which month")) {
    return choice === monthName(utc(2023, monthNumber(/after (\w+)\?$/.exec(question)![1]!) + distance))
  }
  if (question.includes("leap year")) {
    const isLeap = utc(Number(choice), 2, 0).getUTCDate() === 29
    return isLeap !== question.includes("not a")
  }
  if (question.includes("occur exactly")) {
    const times = question.includes("once") ? 1 : first
    return Array.from(choice).filter((letter) => letter === one).length === times
  }
  if (question.startsWith("Which letter is")) return choice === `the letter "${other || Array.from(one)[first - 1]}"`
  if (question.startsWith("Which letter comes")) {
    const step = question.includes("right after") ? 1 : first
    return choice === `the letter "${String.fromCharCode(one.charCodeAt(0) + step)}"`
  }
  if (question.includes("backwards")) return Array.from(choice).toReversed().join("") === one
  if (question.includes("dictionary")) {
    const sorted = texts.toSorted((a, b) => a.localeCompare(b, "en"))
    return choice === (question.includes("first") ? sorted[0] : sorted.at(-1))
  }
  const [, negation, what = ""] = /is (not )?(.+)\?$/.exec(question)!
  return (negation === undefined) === (things[choice] === what)
}

/** The gold answer with so much thinking that it has a length. */
const long = (gold: string, length: number): string =>
  `<think>${"x".repeat(length - gold.length)}${gold.slice("<think>".length)}`

/** A compact prompt without the order of its choices. */
const sortedKey = (label: string): string => {
  const [question = "", choices = ""] = label.slice(0, -1).split("?")
  const sorted = choices.split(/[A-F]/).slice(1).toSorted()
  return `${question}?${sorted.join("/")}`
}

/** What the things of the kind-of questions are, written down once more. */
const things: { readonly [thing: string]: string } = Object.fromEntries(
  Object.entries({
    "an animal": "horse tiger rabbit eagle salmon spider goat beaver lizard whale",
    "a fruit": "apple banana cherry lemon grape mango peach pear plum melon",
    "a tool": "hammer saw drill pliers wrench chisel shovel screwdriver rake axe",
    "a piece of furniture": "chair table sofa desk wardrobe shelf bed stool cupboard bench",
    "a musical instrument": "violin flute trumpet piano drum guitar harp cello clarinet banjo",
    "a part of the body": "elbow knee ankle shoulder finger nose chin wrist thumb heel",
    "something to wear": "shirt scarf glove jacket sock hat coat trousers sweater apron",
    "a vehicle": "bicycle tram truck bus ferry tractor helicopter canoe scooter van",
    "a metal": "lithium copper silver gold zinc tin nickel lead aluminium titanium",
    "a planet": "venus mars jupiter saturn uranus neptune"
  }).flatMap(([what, names]) => names.split(" ").map((name) => [name, what]))
)

/** How often a way to choose without reading the question is right. */
const luck = (questions: ReadonlyArray<Question>, choose: (choices: ReadonlyArray<string>) => number): number =>
  questions.filter(({ choices, gold }) => choose(choices) === gold).length / questions.length

const byRank = (rank: number) => (choices: ReadonlyArray<string>) =>
  choices.indexOf(choices.toSorted((a, b) => Number(a) - Number(b))[rank]!)

/** The choice with the smallest distance to all others. */
const mostCentral = (distance: (a: string, b: string) => number) => (choices: ReadonlyArray<string>) => {
  const sums = choices.map((one) => choices.reduce((sum, other) => sum + distance(one, other), 0))
  return sums.indexOf(Math.min(...sums))
}

/** The choice that most others are a usual slip away from. */
const mostSlips = (slips: ReadonlyArray<number>) => (choices: ReadonlyArray<string>) => {
  const counts = choices.map(
    (one) => choices.filter((other) => slips.includes(Math.abs(Number(one) - Number(other)))).length
  )
  return counts.indexOf(Math.max(...counts))
}

const difference = (a: string, b: string): number => Math.abs(Number(a) - Number(b))
const hamming = (a: string, b: string): number => Array.from(a).filter((letter, at) => letter !== b[at]).length

describe("Mcqa's bank", () => {
  const Kind = Schema.Literals(Bank.kindNames)

  it.effect.prop(
    "exactly one choice is right, and it is the gold one",
    [Kind, Schema.Literals([2, 3, 4, 5, 6]), Schema.Natural],
    ([kind, choices, index]) =>
      Effect.sync(() => {
        const { gold, question, texts } = bank([kind], choices)(SeededRandom.seeded(1, index))
        const right = texts.flatMap((text, position) => (answers(question, texts, text) ? [position] : []))
        assert.deepStrictEqual(right, [gold], `${question} ${texts.join(" | ")}`)
        assert.strictEqual(texts.length, choices)
      }),
    { arbitrary: { runs: 600 } }
  )

  it.prop("choices differ, and the compact form has known characters", [Kind, Schema.Natural], ([kind, index]) => {
    const question = bank([kind])(SeededRandom.seeded(2, index))
    assert.strictEqual(new Set(question.choices).size, question.choices.length)
    assert.strictEqual(new Set(question.texts).size, question.texts.length)
    assert.isTrue(Array.from(Form.compactPrompt(question)).every((one) => Form.characters.includes(one)))
  })

  it("no position is more often right than another", () => {
    const counts = [0, 0, 0, 0]
    for (const { gold } of many(Bank.kindNames, 2_000)) counts[gold]!++
    for (const count of counts) assert.closeTo(count, 500, 75)
  })

  it.each(["arithmetic", "sequence", "units"] as const)(
    "numbers of %s are no easier to guess than one in four",
    (kind) => {
      const questions = many([kind], 1_000)
      const ways = [0, 1, 2, 3].map(byRank).concat([mostCentral(difference), mostSlips([1, 2, 9, 10, 11])])
      for (const way of ways) assert.isBelow(luck(questions, way), 0.33)
    }
  )

  it("words of letters and words are no easier to guess than one in four", () => {
    const backwards = many(["words"], 3_000).filter(({ question }) => question.includes("backwards"))
    assert.isBelow(luck(backwards, mostCentral(hamming)), 0.33)
    const months = many(["calendar"], 3_000).filter(({ question }) => question.startsWith("How many days has"))
    for (const length of ["28", "30", "31"]) {
      assert.isBelow(
        luck(months, (choices) => choices.indexOf(length)),
        0.4
      )
    }
  })

  it("the length of the right word says little", () => {
    const asked = many(["letters", "words"], 2_000).filter(({ gold, texts }) => {
      const lengths = texts.map((text) => text.length)
      return lengths.filter((length) => length === lengths[gold]).length === 1
    })
    const longest = asked.filter(({ gold, texts }) => texts.every((text) => text.length <= texts[gold]!.length))
    assert.isBelow(longest.length / asked.length, 0.4)
  })
})

describe("Mcqa's grader", () => {
  const question: Question = {
    question: "Capital of France?",
    compact: "france",
    choices: ["London", "Paris", "Rome"],
    texts: ["London", "Paris", "Rome"],
    gold: 1
  }
  const cases: ReadonlyArray<readonly [completion: string, isRight: boolean]> = [
    ["<think>so</think>The best answer is: B", true],
    ["<think>so</think>The best answer is: **B**.", true],
    ["<think>so</think>The best answer is: Paris.", true],
    ["<think>so</think>The correct answer is (B) Paris", true],
    ["<think>so</think>\\boxed{B}", true],
    ["<think>so</think><answer>B</answer>", true],
    ["<think>so</think>The best answer is: A", false],
    ["<think>so</think>B", false],
    ["<think>The best answer is: B</think>I am not sure.", false],
    ["The best answer is: B", false],
    ["<think>a</think><think>b</think>The best answer is: B", false],
    ["<think>a</think></think>The best answer is: B", false],
    ["<think>so</think>The best answer is: A. The best answer is: B. The best answer is: C", false],
    ["<think>so</think>The best answer is A, B or C", false],
    ["<think>so</think>It is A or B or C.", false]
  ]
  for (const [completion, isRight] of cases) {
    it(`${isRight ? "accepts" : "refuses"} ${completion}`, () => {
      assert.strictEqual(Form.isRight(question, completion, true), isRight)
    })
  }

  it("without thinking, passes over a think block where there is one", () => {
    assert.isTrue(Form.isRight(question, "The best answer is: B", false))
    assert.isTrue(Form.isRight(question, "<think>The best answer is: A</think>The best answer is: B", false))
  })
})

const goldOf = (choices: Choices, answer: unknown, meaning?: Meaning) =>
  Result.getOrUndefined(fromRow({ question: "How many?", choices, answer }, meaning))?.gold
const reasonOf = (choices: Choices, answer: unknown, meaning?: Meaning) => {
  const reason = Result.getFailure(fromRow({ question: "How many?", choices, answer }, meaning))
  return Option.match(reason, {
    onNone: () => "none",
    onSome: (why) => (typeof why === "string" ? why : `misread: ${why.reason}`)
  })
}

const rowsOf = (rows: ReadonlyArray<object>, settings: object) =>
  Mcqa.layer({ source: "rows", testSource: "rows", ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(["?"])),
    Layer.provide([Tokenizer.layerBytes, Dataset.layerMemory({ rows })])
  )

describe("Mcqa's rows", () => {
  const words = { texts: ["one", "two", "three"] }
  const digits = { texts: ["3", "1", "2"] }
  const numbered = { texts: ["one", "two", "three"], labels: ["1", "2", "3"] }

  it("take letters, texts and JSON numbers, which count from 0, as what they are", () => {
    for (const [answer, gold] of [
      [2, 2],
      [0n, 0],
      ["c", 2],
      ["two", 1],
      ["D", undefined],
      [-1, undefined],
      ["none", undefined]
    ] as const) {
      assert.strictEqual(goldOf(words, answer), gold, String(answer))
    }
    assert.strictEqual(goldOf(digits, 2), 2)
  })

  it("refuse digits that do not say how they count, and say what would", () => {
    for (const [choices, answer] of [
      [words, "2"],
      [words, "0"],
      [words, "3"],
      [digits, "2"],
      [digits, "1"],
      [{ texts: ["O", "A", "B", "AB"] }, "A"]
    ] as const) {
      assert.strictEqual(goldOf(choices, answer), undefined)
      assert.match(
        reasonOf(choices, answer),
        /^it is not clear which of the . choices the answer ".+" is: set answer_is to/
      )
    }
    assert.strictEqual(goldOf({ texts: ["0", "1", "2"] }, "A"), 0)
  })

  it("go by their labels where they have some", () => {
    for (const [answer, gold] of [
      ["2", 1],
      [2, 1],
      [3n, 2],
      ["1", 0],
      ["0", undefined],
      ["B", undefined],
      ["three", 2]
    ] as const) {
      assert.strictEqual(goldOf(numbered, answer), gold, String(answer))
    }
    assert.strictEqual(goldOf({ texts: ["2", "3"], labels: ["1", "2"] }, "2"), 1)
    assert.match(reasonOf(numbered, "4"), /^the answer "4" is neither one of the labels 1, 2, 3 nor a text$/)
    assert.match(reasonOf({ texts: ["a", "b"], labels: ["1", "1"] }, "1"), /its own label/)
    assert.match(reasonOf({ texts: ["a", "b"], labels: ["1"] }, "1"), /its own label/)
  })

  it("go by what answer_is says", () => {
    for (const [meaning, golds] of [
      ["index", [1, undefined, 2]],
      ["number", [0, 2, 1]],
      ["text", [1, 0, 2]],
      ["label", [undefined, undefined, undefined]]
    ] as const) {
      assert.deepStrictEqual(
        ["1", "3", "2"].map((answer) => goldOf(digits, answer, meaning)),
        Array.from(golds),
        meaning
      )
    }
    assert.match(reasonOf(digits, "7", "index"), /^the answer "7" is not a valid index of the 3 choices \(answer_is\)$/)
  })

  /** Rows as public data sets have them, and the settings that read them. */
  const published = {
    "cais/mmlu": {
      row: { question: "?", choices: ["w", "x", "y", "z"], answer: 2 },
      gold: "y"
    },
    "allenai/ai2_arc": {
      row: { question: "?", choices: { text: ["w", "x", "y", "z"], label: ["1", "2", "3", "4"] }, answerKey: "2" },
      settings: { answerField: "answerKey" },
      gold: "x"
    },
    "allenai/openbookqa": {
      row: { question_stem: "?", choices: { text: ["w", "x", "y", "z"], label: ["A", "B", "C", "D"] }, answerKey: "C" },
      settings: { questionField: "question_stem", answerField: "answerKey" },
      gold: "y"
    },
    "tau/commonsense_qa": {
      row: { question: "?", choices: { label: ["A", "B", "C"], text: ["w", "x", "y"] }, answerKey: "B" },
      settings: { answerField: "answerKey" },
      gold: "x"
    },
    "ARC as its authors wrote it": {
      row: {
        question: {
          stem: "?",
          choices: [
            { text: "w", label: "1" },
            { text: "x", label: "2" }
          ]
        },
        answerKey: "1"
      },
      settings: { questionField: "question.stem", choicesField: "question.choices", answerField: "answerKey" },
      gold: "w"
    },
    "Rowan/hellaswag": {
      row: { ctx: "?", endings: ["w", "x", "y", "z"], label: "2" },
      settings: { questionField: "ctx", choicesField: "endings", answerField: "label", answerIs: "index" },
      gold: "y"
    },
    "allenai/winogrande": {
      row: { sentence: "?", option1: "w", option2: "x", answer: "2" },
      settings: { questionField: "sentence", choicesField: "option1,option2", answerIs: "number" },
      gold: "x"
    },
    "allenai/sciq": {
      row: { question: "?", distractor1: "w", distractor2: "x", distractor3: "y", correct_answer: "z" },
      settings: {
        choicesField: "correct_answer, distractor1, distractor2, distractor3",
        answerField: "correct_answer"
      },
      gold: "z"
    },
    piqa: {
      row: { goal: "?", sol1: "w", sol2: "x", label: 1 },
      settings: { questionField: "goal", choicesField: "sol1,sol2", answerField: "label" },
      gold: "x"
    },
    "labels in a column of their own": {
      row: { question: "?", texts: ["w", "x"], names: ["1", "0"], answer: "1" },
      settings: { choicesField: "texts", labelsField: "names" },
      gold: "w"
    }
  } as const
  for (const [name, given] of Object.entries(published)) {
    it.effect(`of ${name} are read right`, () =>
      Effect.gen(function* () {
        const [item] = yield* claimed(1)
        const letter = /: ([A-Z])$/.exec(item!.gold[0]!.completion)![1]!
        assert.include(item!.label, `${letter}. ${given.gold}`)
      }).pipe(Effect.provide(rowsOf([given.row], "settings" in given ? given.settings : {})))
    )
  }

  it.effect("with a column of their own for the right choice do not always have it at the same place", () =>
    Effect.gen(function* () {
      const items = yield* claimed(60)
      const places = items.map(({ gold }) => gold[0]!.completion.at(-1))
      for (const letter of ["A", "B", "C"]) assert.isAbove(places.filter((one) => one === letter).length, 8)
    }).pipe(
      Effect.provide(
        rowsOf(
          Array.from({ length: 60 }, (_, n) => ({
            question: `Question ${n}?`,
            right: `r${n}`,
            wrong: `w${n}`,
            bad: `b${n}`
          })),
          { choicesField: "right,wrong,bad", answerField: "right" }
        )
      )
    )
  )

  it.effect("that count from 1 where others were read from 0 are an error that says what would be right", () =>
    Effect.gen(function* () {
      const rows = [1, 2, 4].map((gold) => ({ question: "?", options: ["w", "x", "y", "z"], gold }))
      const given = { choicesField: "options", answerField: "gold" }
      const error = yield* Effect.flip(Effect.scoped(Layer.build(rowsOf(rows, given))))
      assert.strictEqual(
        error.message,
        'rows, row 3: the answer "4" of 4 choices counts from 1, not from 0: set answer_is to number'
      )
      const unclear = yield* Effect.flip(Effect.scoped(Layer.build(rowsOf([{ ...rows[0], gold: "2" }], given))))
      assert.match(
        unclear.message,
        /^rows, row 1: it is not clear which of the 4 choices the answer "2" is: set answer_is/
      )
    })
  )

  const settings = { source: "rows", testSource: "rows", questionField: "prompt", choicesField: "options" }

  it.effect("of a data set are asked as they are", () =>
    Effect.gen(function* () {
      const items = yield* claimed(3)
      const italy = items.find(({ label }) => label.includes("Italy"))!
      assert.include(italy.label, "Capital of Italy?\n\nA. London\nB. Paris\nC. Rome")
      assert.deepStrictEqual(yield* italy.score(italy.gold), [1])
    }).pipe(Effect.provide(environment(settings)))
  )

  it.effect("with a column that is not there are an error that names it and those that are", () =>
    Effect.gen(function* () {
      const built = Layer.build(environment({ ...settings, questionField: "question" }))
      const error = yield* Effect.flip(Effect.scoped(built))
      assert.strictEqual(
        error.message,
        'rows, row 1: unknown column "question" (question_field); the columns are prompt, options, answer'
      )
    })
  )
})

layer(environment({ groupSize: 2, seed: 3 }))("Mcqa", (it) => {
  it.effect("gives the same items from any cursor on", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* labels(0, 30)).slice(20), yield* labels(20, 10))
    })
  )

  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group))

  it.effect("holds the same questions out whatever the order of their choices", () =>
    Effect.sync(() => {
      const question = bank(["arithmetic"])(SeededRandom.seeded(1, 1))
      const turned = { ...question, choices: question.choices.toReversed() }
      assert.strictEqual(Form.key(question), Form.key(turned))
    })
  )
})

describe("Mcqa's scores", () => {
  const firstOf = (completions: (gold: string) => ReadonlyArray<string>, maxTokenLength = 2048) =>
    Effect.gen(function* () {
      const [item] = yield* claimed(1)
      const gold = item!.gold[0]!.completion
      return yield* item!.score(completions(gold).map((completion) => Laws.trajectoryOf(completion)))
    }).pipe(Effect.provide(environment({ maxTokenLength, seed: 4 })))

  it.effect("fall with the length of an answer once all of a group are right", () =>
    Effect.gen(function* () {
      const scores = yield* firstOf((gold) => [gold, long(gold, 300), long(gold, 400)], 400)
      assert.deepStrictEqual(scores, [1, 0.5, 0])
      assert.deepStrictEqual(yield* firstOf((gold) => [long(gold, 400), "no"], 400), [1, -1])
    })
  )

  it.effect("of compact answers are 1 for the letter and the end, else 0", () =>
    Effect.gen(function* () {
      assert.sameMembers(yield* firstScores, [0, 0, 1])
    }).pipe(
      Effect.provide(environment({ promptStyle: "compact", groupSize: 3, choices: 2, seed: 5 }, ["A", "B", "AB"]))
    )
  )

  it.effect("of compact answers that go on or are cut off are 0", () =>
    Effect.gen(function* () {
      const [item] = yield* claimed(1)
      const gold = item!.gold[0]!
      assert.deepStrictEqual(yield* item!.score([gold, { ...gold, finishReason: "length" }]), [1, 0])
    }).pipe(Effect.provide(environment({ promptStyle: "compact" })))
  )

  it.prop(
    "a demonstration is one of the letters",
    [Schema.Struct({ seed: Schema.Natural, index: Schema.Natural })],
    ([place]) => {
      const options = { kinds: ["arithmetic"] as const, choices: 3, largestNumber: 9 }
      const { completion, prompt } = Mcqa.demonstration({ ...options, ...place, accuracy: 0.5 })
      assert.match(prompt, /^\d+[-+*]\d+\?A-?\d+B-?\d+C-?\d+=$/)
      assert.match(completion, /^[ABC]$/)
      const [, left, operator, right, ...choices] = /^(\d+)([-+*])(\d+)\?A(-?\d+)B(-?\d+)C(-?\d+)=$/.exec(prompt)!
      const [a, b] = [Number(left), Number(right)]
      const value = operator === "+" ? a + b : operator === "-" ? a - b : a * b
      const chosen = Mcqa.demonstration({ ...options, ...place, accuracy: 1 }).completion
      assert.strictEqual(chosen, "ABC"[choices.indexOf(String(value))])
      assert.isTrue(Array.from(prompt).every((one) => Mcqa.characters.includes(one)))
    }
  )
})

describe("Mcqa's evaluation", () => {
  it.effect("is of questions that are never trained on", () =>
    Effect.gen(function* () {
      const held = (yield* heldOutLabels).map(sortedKey)
      const trained = (yield* labels(0, 300)).map(sortedKey)
      assert.isTrue(held.every(ItemSource.isHeldOut))
      assert.isFalse(trained.some(ItemSource.isHeldOut))
    }).pipe(Effect.provide(environment({ promptStyle: "compact", kinds: ["arithmetic"], largestNumber: 9 })))
  )
})

describe("Mcqa and a policy that says the prompt back", () => {
  it.effect("gives it nothing", () =>
    Effect.gen(function* () {
      const scores = yield* scoresOf(300)
      assert.isTrue(scores.every((score) => score === -1))
    }).pipe(Effect.provide(environment({ groupSize: 1 }, echo)))
  )
})
