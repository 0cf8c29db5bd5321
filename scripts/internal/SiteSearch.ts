/** Searches the documentation site. The functions also run in the reader's browser, as they are. */

/** A section of a page. */
export interface Entry {
  /** Of the page. */
  readonly title: string
  readonly heading: string
  readonly url: string
  readonly text: string
  /** From 0 for guides to 3 for what only contributors need. */
  readonly rank: number
}

export interface Hit {
  readonly entry: Entry
  /** The text around the first word found. */
  readonly excerpt: string
}

/** Words of a query that pages write differently. */
const synonyms: { readonly [word: string]: ReadonlyArray<string> } = {
  resume: ["resuming", "continue", "interrupted"],
  wandb: ["weights & biases"],
  "w&b": ["weights & biases"],
  oom: ["memory"],
  ram: ["memory"],
  vram: ["memory"],
  multi: ["several", "multiple"],
  gpus: ["gpu"],
  cuda: ["gpu"],
  k8s: ["cluster", "kubernetes"],
  kubernetes: ["cluster"],
  slurm: ["cluster"],
  finetune: ["sft", "train"],
  "fine-tune": ["sft", "train"],
  eval: ["evaluation", "evaluate"],
  evals: ["evaluation", "evaluate"],
  dashboard: ["viewer"],
  ui: ["viewer"],
  hf: ["hugging face"],
  huggingface: ["hugging face"],
  crash: ["killed", "troubleshooting"],
  error: ["troubleshooting"],
  dataset: ["data set", "data sets"],
  datasets: ["data sets"],
  lora: ["adapter"],
  postgresql: ["postgres"],
  auth: ["token", "tokens"],
  parallel: ["concurrent", "several"],
  cost: ["price", "costs"],
  claude: ["coding agent"],
  codex: ["coding agent"],
  pi: ["coding agent"]
}

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}]/u.test(character)

/** 0 if absent, more for a whole word than for a part of one. */
const weightIn = (text: string, word: string): number => {
  const at = text.indexOf(word)
  if (at === -1) return 0
  for (let from = at; from !== -1; from = text.indexOf(word, from + 1)) {
    if (!isWord(text[from - 1]) && !isWord(text[from + word.length])) return 1
  }
  return isWord(text[at - 1]) ? 0.2 : 0.6
}

/** A word and its synonyms. */
const formsOf = (word: string): ReadonlyArray<string> => [
  word,
  ...(Object.hasOwn(synonyms, word) ? synonyms[word]! : [])
]

/** 0 unless every word or a synonym occurs. */
const scoreOf = (entry: Entry, words: ReadonlyArray<string>): number => {
  const [heading, title, text] = [entry.heading, entry.title, entry.text].map((one) => one.toLowerCase()) as [
    string,
    string,
    string
  ]
  let score = heading.includes(words.join(" ")) ? 3 : 0
  for (const word of words) {
    const scores = formsOf(word).map((form, at) => {
      const density = text === "" ? 0 : Math.min(1, (text.split(form).length - 1) / (text.length / 400))
      const weight = 5 * weightIn(heading, form) + 2 * weightIn(title, form) + (1 + density) * weightIn(text, form)
      return at === 0 ? weight : 0.9 * weight
    })
    const best = Math.max(...scores)
    if (best === 0) return 0
    score += best
  }
  return score / (1 + 0.4 * entry.rank)
}

const excerptOf = ({ text }: Entry, words: ReadonlyArray<string>): string => {
  const lower = text.toLowerCase()
  const places = words.flatMap(formsOf).flatMap((form) => {
    const at = lower.indexOf(form)
    return at === -1 ? [] : [at]
  })
  if (places.length === 0) return ""
  const from = Math.max(0, Math.min(...places) - 40)
  const start = from === 0 ? 0 : text.indexOf(" ", from) + 1
  const end = text.length <= start + 120 ? text.length : text.lastIndexOf(" ", start + 120)
  return `${start > 0 ? "… " : ""}${text.slice(start, end)}${end < text.length ? " …" : ""}`
}

/** The sections that have every word of the query or a synonym, best first. */
export const find = (entries: ReadonlyArray<Entry>, query: string): ReadonlyArray<Hit> => {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word.length > 1)
  if (words.length === 0) return []
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, 12)
    .map(({ entry }) => ({ entry, excerpt: excerptOf(entry, words) }))
}

/** This module as a script that defines `find`. */
export const script: string = [
  `const synonyms = ${JSON.stringify(synonyms)}`,
  ...Object.entries({ isWord, weightIn, formsOf, scoreOf, excerptOf, find }).map(
    ([name, part]) => `const ${name} = ${part.toString()}`
  )
].join("\n")
