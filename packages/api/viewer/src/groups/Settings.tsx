/**
 * Shows a group's parameters: `temperature 0.7`, `limits {"turns":3}`, `tokenizer bytes`; long values are complete in
 * the tooltip.
 */
import * as Predicate from "effect/Predicate"

/** The name of an object that has one. */
const shownOf = (value: unknown): string =>
  Predicate.isReadonlyObject(value) && typeof value["name"] === "string" ? value["name"] : textOf(value)

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

export const Settings = ({ of }: { readonly of: ReadonlyArray<{ readonly [name: string]: unknown }> }) =>
  of.flatMap((settings) =>
    Object.entries(settings).flatMap(([name, value]) => {
      if (value === null || value === undefined) return []
      const text = textOf(value)
      const short = cut(shownOf(value))
      return [
        <span key={name} title={short === text ? undefined : text}>{`${name.replaceAll("_", " ")} ${short}`}</span>
      ]
    })
  )

const longest = 80

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)

/** An answer in one line, complete in the tooltip. */
export const Short = ({ text }: { readonly text: string }) => (
  <code className="short-answer" title={text.length > longest ? text : undefined}>
    {text === "" ? "(empty)" : cut(text)}
  </code>
)
