/** Finds a text or a token id in a rollout. Pure. */
import type { TokenModel } from "./TokenModel.ts"

/** Folds case, unless that changes the length. */
const folded = (text: string): string => {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
}

/** The first tokens of all matches, in order. Matches do not span tokens without text. */
export const find = ({ length, token }: TokenModel, wanted: string): ReadonlyArray<number> => {
  if (wanted === "") return []
  if (/^#\d+$/.test(wanted)) {
    const id = Number(wanted.slice(1))
    return Array.from({ length }, (_, index) => index).filter((index) => token(index).id === id)
  }
  const parts: Array<string> = []
  const starts: Array<number> = []
  let at = 0
  for (let index = 0; index < length; index++) {
    const part = folded(token(index).text ?? "\uFFFF")
    starts.push(at)
    parts.push(part)
    at += part.length
  }
  const text = parts.join("")
  const needle = folded(wanted)
  const found: Array<number> = []
  let index = 0
  for (let place = text.indexOf(needle); place >= 0; place = text.indexOf(needle, place + 1)) {
    while (index + 1 < length && (starts[index + 1] ?? 0) <= place) index++
    if (found.at(-1) !== index) found.push(index)
  }
  return found
}
