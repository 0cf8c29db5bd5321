/**
 * Detects the language of a text, by letter trigrams (franc), as ISO 639-1.
 *
 * IFEval uses `langdetect`, which knows 55 languages by its own profiles and breaks near-ties at random: on short
 * texts, and between related languages, the two may differ.
 */
import { Effect } from "effect"
import type { Detect } from "./Checks.ts"

const codes: ReadonlyMap<string, string> = new Map(
  (
    "arb:ar bul:bg ben:bn ces:cs deu:de ell:el eng:en spa:es pes:fa fra:fr guj:gu heb:he hin:hi hrv:hr hun:hu ind:id ita:it jpn:ja kan:kn kor:ko " +
    "mal:ml mar:mr npi:ne nld:nl pan:pa pol:pl por:pt ron:ro rus:ru som:so swe:sv swh:sw tam:ta tel:te tha:th tgl:tl tur:tr ukr:uk urd:ur vie:vi cmn:zh"
  )
    .split(" ")
    .map((pair) => pair.split(":") as [string, string])
)

export const load: Effect.Effect<Detect> = Effect.map(
  Effect.promise(() => import("franc-min")),
  ({ franc }) =>
    (text) => {
      if (!/\p{L}/u.test(text)) return undefined
      const found = franc(text, { only: Array.from(codes.keys()), minLength: 1 })
      return codes.get(found) ?? found
    }
)
