// heat.ts: the scale of the heat map, in the file's unit of length.
//
// One scale for all skins of a character, so that they can be compared visually. It is based on their median error: a
// method that fails on the clip is drawn beyond the scale but does not flatten the others. Four times the RMS keeps
// nearly all vertices of a typical skin below the top.

export function quantile(values: number[], share: number): number {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!sorted.length) return NaN;
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low]! + ((sorted[low + 1] ?? sorted[low]!) - sorted[low]!) * (at - low);
}

// The value with `rank` smaller ones, without sorting all (Hoare's selection); moves the values around.
export function ranked(values: Float32Array, rank: number): number {
  for (let low = 0, high = values.length - 1; low < high;) {
    const middle = values[(low + high) >> 1]!;
    let i = low, j = high;
    while (i <= j) {
      while (values[i]! < middle) i++;
      while (values[j]! > middle) j--;
      if (i > j) break;
      const kept = values[i]!;
      values[i++] = values[j]!;
      values[j--] = kept;
    }
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else break;
  }
  return values[rank]!;
}

// Rounds up to 1, 2 or 5 times a power of ten.
export function nice(value: number): number {
  const ten = 10 ** Math.floor(Math.log10(value));
  const share = value / ten;
  return (share <= 1.0001 ? 1 : share <= 2.0001 ? 2 : share <= 5.0001 ? 5 : 10) * ten;
}

// rms: one per measured skin.
export function commonScale(rms: number[], diagonal: number): number {
  const middle = quantile(rms.filter((value) => value > 0), 0.5);
  return nice(Number.isFinite(middle) ? 4 * middle : (diagonal || 1) * 0.01);
}

// Short, and never 0 for a nonzero value.
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) return value.toExponential(1).replace('e-', 'e−').replace('e+', 'e');
  return String(Number(value.toPrecision(3)));
}

export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toPrecision(3)} kB`;
  return `${(bytes / 1e6).toPrecision(3)} MB`;
}
