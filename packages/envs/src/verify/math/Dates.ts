/** Reads dates with a month's name: "July 4", "4th of July", "Jul. 4, 2020", "Sunday, July 4th" without its weekday. */
const months = "january february march april may june july august september october november december".split(" ")
const month = String.raw`(${months.map((name) => `${name}|${name.slice(0, 3)}\\.?`).join("|")}|sept\.?)`
const day = String.raw`(?:the\s)?(\d{1,2})(?:st|nd|rd|th)?`
const year = String.raw`(?:,?\s(\d{4}))?`
const weekday = String.raw`(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s(?:the\s)?)?`
const monthFirst = new RegExp(`^${weekday}${month}\\s${day}${year}$`, "i")
const dayFirst = new RegExp(`^${weekday}${day}\\s(?:of\\s)?${month}${year}$`, "i")
const wrappers = /\\(?:text|textbf|textit|mathrm|mbox)\s?\{|[{}$]|\\(?=[\s,;])/g

/** Max characters of a date. */
const maxLength = 100

/** Month, day and the year if it is written, in one form; undefined for anything else. */
export const read = (answer: string): string | undefined => {
  if (answer.length > maxLength) return undefined
  const text = answer
    .replaceAll(wrappers, " ")
    .replaceAll(/[\s~]+/g, " ")
    .trim()
    .replace(/\.$/, "")
  const [first, second] = [monthFirst.exec(text), dayFirst.exec(text)]
  const name = first?.[1] ?? second?.[2]
  const number = Number(first?.[2] ?? second?.[1])
  if (name === undefined || number < 1 || number > 31) return undefined
  const at = months.findIndex((one) => one.startsWith(name.toLowerCase().slice(0, 3)))
  return `${at + 1}-${number}-${first?.[3] ?? second?.[3] ?? ""}`
}
