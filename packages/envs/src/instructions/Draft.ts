/** Writes a sample answer that meets chosen constraints. It only proves that a generated prompt is satisfiable. */
import { sentences } from "./Stock.ts"

/** The division of the text. */
export type Layout =
  | { readonly of: "text" }
  | { readonly of: "divided"; readonly parts: number }
  | { readonly of: "paragraphs"; readonly parts: number; readonly at: number; readonly first: string }
  | { readonly of: "bullets"; readonly parts: number }
  | { readonly of: "sections"; readonly parts: number; readonly splitter: string }
  | { readonly of: "two" }

export interface Draft {
  readonly layout: Layout
  readonly required: ReadonlyArray<string>
  /** Lines after the first part, and after the last. */
  readonly afterFirst: ReadonlyArray<string>
  readonly afterLast: ReadonlyArray<string>
  /** Applied to the whole text. */
  readonly finish: (text: string) => string
}

export const empty: Draft = {
  layout: { of: "text" },
  required: [],
  afterFirst: [],
  afterLast: [],
  finish: (text) => text
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

const partsOf = (layout: Layout): ReadonlyArray<string> => {
  switch (layout.of) {
    case "text":
      return [sentence(0)]
    case "two":
      return [sentence(0), sentence(1)]
    case "divided":
      return Array.from({ length: layout.parts }, (_, part) => sentence(part))
    case "paragraphs":
      return Array.from({ length: layout.parts }, (_, part) =>
        part + 1 === layout.at ? `${capital(layout.first)} it begins.` : sentence(part)
      )
    case "bullets":
      return ["Here is a list.", ...Array.from({ length: layout.parts }, (_, part) => `- ${sentence(part)}`)]
    case "sections":
      return Array.from({ length: layout.parts }, (_, part) => `${layout.splitter} ${part + 1}\n${sentence(part)}`)
  }
}

const sentence = (number: number): string => sentences[number % sentences.length]!

const between: { readonly [of in Layout["of"]]: string } = {
  text: " ",
  two: "\n******\n",
  divided: "\n* * *\n",
  paragraphs: "\n\n",
  bullets: "\n",
  sections: "\n"
}

/** The answer, with a number of additional sentences. */
export const write = ({ afterFirst, afterLast, finish, layout, required }: Draft, more = 0): string => {
  const [first = "", ...rest] = partsOf(layout)
  const fillers = Array.from({ length: more }, (_, number) => sentence(rest.length + 2 + number))
  const opening = [[first, ...required, ...fillers].join(" "), ...afterFirst].join("\n")
  return finish([[opening, ...rest].join(between[layout.of]), ...afterLast].join("\n"))
}
