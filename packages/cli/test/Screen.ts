/**
 * What a terminal shows after all that was written to it, as lines: it knows what the command writes, a line's end, its
 * beginning, rows up, and what is erased, and refuses everything else. Rows that scrolled away are among the lines.
 */
// oxlint-disable-next-line no-control-regex -- these are what a terminal obeys
const sequences = /\u001b\[(\??[0-9;]*)([A-Za-z])|\u001b([78])|\r|\n|[^\u001b\r\n]+/gu

const count = (parameter: string): number => (parameter === "" ? 1 : Number(parameter))

export const after = (written: string, { columns }: { readonly columns: number }): ReadonlyArray<string> => {
  const rows: Array<Array<string>> = [[]]
  let row = 0
  let column = 0
  const at = (index: number): Array<string> => (rows[index] ??= [])
  const down = () => {
    row += 1
    at(row)
  }
  const put = (character: string) => {
    if (column >= columns) {
      down()
      column = 0
    }
    const line = at(row)
    while (line.length < column) line.push(" ")
    line[column] = character
    column += 1
  }
  const commands: { readonly [letter: string]: (parameter: string) => void } = {
    A: (parameter) => void (row = Math.max(0, row - count(parameter))),
    G: (parameter) => void (column = count(parameter) - 1),
    // To the end of the line, or all of it.
    K: (parameter) => void at(row).splice(parameter === "2" ? 0 : column),
    J: () => {
      at(row).splice(column)
      rows.splice(row + 1)
    },
    // Colours, and whether lines wrap and the cursor is seen.
    m: () => undefined,
    h: () => undefined,
    l: () => undefined
  }
  for (const [text, parameter = "", letter] of written.matchAll(sequences)) {
    if (text === "\r") column = 0
    else if (text === "\n") down()
    else if (!text.startsWith("\u001b")) for (const character of text) put(character)
    else if (letter !== undefined) {
      const command = commands[letter]
      if (command === undefined) throw new Error(`no terminal's command that is known: ${JSON.stringify(text)}`)
      command(parameter)
    }
  }
  return rows.map((line) => line.join("").trimEnd())
}
