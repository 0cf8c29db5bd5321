/** What a check of `atropos doctor` found: in order, worth knowing, or broken, with what to do about it. */
export interface Finding {
  readonly check: string
  /** `broken` means that something needed does not work: the command then exits with 1. */
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
