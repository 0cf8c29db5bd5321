/** Answers written for saved groups of `scenes`, which a testing server left empty, scored only for their format. */

interface SavedMessage {
  readonly role: string
  readonly content: unknown
}

interface SavedGroup {
  readonly messages: ReadonlyArray<ReadonlyArray<SavedMessage>>
  readonly [field: string]: unknown
}

const answersTo = (question: string): ReadonlyArray<string> => {
  const thing = /the (\w+)\?/.exec(question)?.[1] ?? "shape"
  if (question.startsWith("What colour")) {
    return ["yellow", "red", "blue"].map((colour) => `The ${thing} is ${colour}. <answer>${colour}</answer>`)
  }
  if (question.startsWith("How many")) {
    return ["2", "3", "1"].map((number) => `I count them row by row: ${number}. <answer>${number}</answer>`)
  }
  return [
    "I compare where both are. <answer>yes</answer>",
    "It is on the other side. <answer>no</answer>",
    "From left to right, then from the top down. <answer>yes</answer>"
  ]
}

/** The last one lacks the format. */
const answersOf = (question: string): ReadonlyArray<string> => [
  ...answersTo(question),
  "Let me look at each shape in turn, from the top left to the bottom right."
]

const questionOf = (chat: ReadonlyArray<SavedMessage>): string =>
  /"text":"([^"]*)"/.exec(JSON.stringify(chat))?.[1] ?? ""

const answered = (group: SavedGroup): object => {
  const answers = answersOf(questionOf(group.messages[0] ?? []))
  const formed = answers.map((answer) => (answer.includes("<answer>") ? 1 : 0))
  return {
    ...group,
    messages: group.messages.map((chat, row) =>
      chat.map((message) => (message.role === "assistant" ? { ...message, content: answers[row] } : message))
    ),
    scores: formed,
    overrides: formed.map((format) => ({ rewards: { format, correct: 0 } }))
  }
}

/** Adds answers to the lines of a file of groups. */
export const written = (lines: string): string =>
  lines
    .trim()
    .split("\n")
    // Written by the command just before.
    .map((line) => `${JSON.stringify(answered(JSON.parse(line) as SavedGroup))}\n`)
    .join("")
