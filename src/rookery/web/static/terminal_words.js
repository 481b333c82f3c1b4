// A line split into words as a shell would: quotes hold together, a backslash takes the next as it is.

export function split(line) {
  const words = [];
  let word = null;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const one = line[at];
    if (quote) {
      if (one === quote) quote = "";
      else if (one === "\\" && quote === '"' && '"\\'.includes(line[at + 1])) word += line[(at += 1)];
      else word += one;
    } else if (one === "'" || one === '"') {
      quote = one;
      word ??= "";
    } else if (one === "\\" && at + 1 < line.length) {
      word = (word ?? "") + line[(at += 1)];
    } else if (/\s/.test(one)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + one;
    }
  }
  if (word !== null) words.push(word);
  return words;
}
