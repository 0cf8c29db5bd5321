/** A message in one line: those of schemas take several. */
export const oneLine = ({ message }: { readonly message: string }): string =>
  message.replaceAll(/(?<!\s)\s*\n\s*/g, " ")
