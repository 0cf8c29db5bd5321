/**
 * Rewards Sanskrit verse (IAST) in a given metre: the share of its quarter verses that scan.
 *
 * A syllable is heavy (G) with a long vowel, before anusvara, visarga or two consonants, else light (L); the last of a
 * quarter is either. The original asks a Python library for its best guess (chandas_meter_reward.py) and gives 0 if
 * that is not installed; this one scans the text itself. Example: "dharmakṣetre kurukṣetre" is G G G G L G G G.
 */
import * as Reward from "./Reward.ts"

/** Quarter-verse patterns, x = either. Source: any Sanskrit prosody, for example Apte's dictionary, appendix A. */
const metres = {
  tristubh: ["xGLGGLLGLGx"],
  indravajra: ["GGLGGLLGLGx"],
  upendravajra: ["LGLGGLLGLGx"],
  vasantatilaka: ["GGLGLLLGLLGLGx"],
  malini: ["LLLLLLGGGLGGLGx"],
  anustubh: ["xxxxLGGx", "xxxxLGLx"]
} as const
type Metre = keyof typeof metres

export const metreNames = Object.keys(metres) as ReadonlyArray<Metre>

const vowel = /ai|au|[aāiīuūṛṝḷḹeo]/u
const syllable = /(ai|au|[aāiīuūṛṝḷḹeo])([ṃṁḥ]?)((?:[kgcjṭḍtdpb]h|[kgṅcjñṭḍṇtdnpbmyrlvśṣsh])*)/gu
const consonant = /[kgcjṭḍtdpb]h|[kgṅcjñṭḍṇtdnpbmyrlvśṣsh]/gu
const longVowel = /^(?:ai|au|[āīūṝḹeo])$/u

/** Weights of the syllables of a quarter verse, as a string of L and G. */
export const scan = (quarter: string): string =>
  Array.from(
    quarter
      .toLowerCase()
      .normalize("NFC")
      .replaceAll(/[^\p{L}]/gu, "")
      .matchAll(syllable),
    ([, nucleus, coda, cluster]) =>
      longVowel.test(nucleus!) || coda !== "" || (cluster!.match(consonant) ?? []).length > 1 ? "G" : "L"
  ).join("")

/** Share of the quarters (separated by line breaks, commas, dandas or bars) in the metre, 0 to 1. */
export const chandasMeter = (metre: Metre = "tristubh"): Reward.Reward => {
  const patterns = metres[metre].map((pattern) => new RegExp(`^${pattern.replaceAll("x", "[LG]")}$`))
  return Reward.make("chandas_meter", (completion) => {
    const quarters = completion.split(/[\n,|।॥/]+/u).filter((quarter) => vowel.test(quarter))
    const matching = quarters.filter((quarter) => patterns.some((pattern) => pattern.test(scan(quarter)))).length
    return quarters.length === 0 ? 0 : matching / quarters.length
  })
}
