/**
 * Switches and parameters a group came with: `temperature 0.7`, `limits {"turns":3}`, `tokenizer bytes`; long ones are
 * whole where they are pointed at.
 */
import * as Predicate from "effect/Predicate"

/** Of what has a name beside digests and the like, the name. */
const shownOf = (value: unknown): string =>
  Predicate.isReadonlyObject(value) && typeof value["name"] === "string" ? value["name"] : textOf(value)

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

export const Settings = ({ of }: { readonly of: ReadonlyArray<{ readonly [name: string]: unknown }> }) =>
  of.flatMap((settings) =>
    Object.entries(settings).flatMap(([name, value]) => {
      if (value === null || value === undefined) return []
      const text = textOf(value)
      const shown = cut(shownOf(value))
      return [
        <span key={name} title={shown === text ? undefined : text}>{`${name.replaceAll("_", " ")} ${shown}`}</span>
      ]
    })
  )

const longest = 80

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)

/** An answer in a line, whole where it is pointed at. */
export const Short = ({ text }: { readonly text: string }) => (
  <code className="short-answer" title={text.length > longest ? text : undefined}>
    {text === "" ? "(empty)" : cut(text)}
  </code>
)
