/** Defines the findings of `atropos doctor`: ok, a note, or broken, with advice. */
export interface Finding {
  readonly check: string
  /** `broken`: something required does not work; the command then exits with 1. */
  readonly status: "ok" | "note" | "broken"
  readonly found: string
  readonly advice?: string
}

export const ok = (check: string, found: string): Finding => ({ check, status: "ok", found })
export const note = (check: string, found: string, advice: string): Finding => ({
  check,
  status: "note",
  found,
  advice
})
export const broken = (check: string, found: string, advice: string): Finding => ({
  check,
  status: "broken",
  found,
  advice
})
