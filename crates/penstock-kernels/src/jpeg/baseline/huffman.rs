//! Entropy-coded blocks: Huffman codes and the bits behind them.
//!
//! Nearly all coefficients of a file are a short code and a short value; one look into a table gives both, and the zeros
//! before them. Five of those fit between two refills, so a coefficient costs a look, a product and a shift. The end of a
//! block is a coefficient that is followed by none. What is longer takes a second table, or is searched for.

/// Bits of a code that are looked up at once; longer ones are rare.
const CODE_BITS: u32 = 9;
/// Bits of a code and its value that are looked up at once.
const WHOLE_BITS: u32 = 11;
/// Bits of such a value: times a byte it stays below `LIMIT`.
const WHOLE_SIZE: u32 = 5;
/// As many as surely are at hand after a refill.
const WHOLES: usize = 5;
/// The "zeros" before the end of a block.
const END: u32 = 100;

/// A code: from its lowest byte, the bits of code and value, those of the code, 64 less those of the value (0 if it has
/// none), and how many zeros come before it. 0: no such code, or a longer one.
#[derive(Clone, Copy, Default, PartialEq)]
struct Entry(u32);

/// A code with its value: from its lowest byte, the bits of both, the zeros before it, and the value (16 bits). 0: as above.
#[derive(Clone, Copy, Default, PartialEq)]
struct Whole(u32);

/// A Huffman table, ready for decoding.
pub struct Table {
    is_defined: bool,
    /// Whether what follows is a table, of this file or of one before.
    is_whole: bool,
    /// As they stand in the file.
    counts: [u8; 16],
    symbols: [u8; 256],
    entries: Box<[Entry; 1 << CODE_BITS]>,
    /// Of coefficients but the first of a block.
    wholes: Box<[Whole; 1 << WHOLE_BITS]>,
    /// For each length, the first code that is longer, at the top of 16 bits.
    ends: [u32; 17],
    /// For each length, what is added to a code of it for the place of its symbol.
    offsets: [i32; 17],
}

impl Default for Table {
    fn default() -> Self {
        Self {
            is_defined: false,
            is_whole: false,
            counts: [0; 16],
            symbols: [0; 256],
            entries: Box::new([Entry::default(); 1 << CODE_BITS]),
            wholes: Box::new([Whole::default(); 1 << WHOLE_BITS]),
            ends: [0; 17],
            offsets: [0; 17],
        }
    }
}

impl Table {
    pub fn forget(&mut self) {
        self.is_defined = false;
    }

    pub fn is_defined(&self) -> bool {
        self.is_defined
    }

    /// From the number of codes of each length and their symbols. None: there are more codes than fit, or a size above 15.
    /// A table is kept while files have the same.
    pub fn define(&mut self, counts: &[u8; 16], symbols: &[u8], is_dc: bool) -> Option<()> {
        if symbols.len() > 256 || (is_dc && symbols.iter().any(|&symbol| symbol > 15)) {
            return None;
        }
        if self.is_whole && self.counts == *counts && self.symbols.starts_with(symbols) {
            self.is_defined = true;
            return Some(());
        }
        (self.is_whole, self.counts) = (false, *counts);
        self.symbols[..symbols.len()].copy_from_slice(symbols);
        self.entries.fill(Entry::default());
        self.wholes.fill(Whole::default());
        let (mut code, mut place) = (0_u32, 0_usize);
        for (length, &count) in (1_u32..).zip(counts) {
            self.offsets[length as usize] = place as i32 - code as i32;
            for _ in 0..count {
                if length <= CODE_BITS {
                    let first = (code << (CODE_BITS - length)) as usize;
                    let entry = Entry::of(symbols[place], length, is_dc);
                    self.entries.get_mut(first..first + (1 << (CODE_BITS - length)))?.fill(entry);
                }
                if !is_dc {
                    self.define_wholes(code, length, symbols[place])?;
                }
                code += 1;
                place += 1;
            }
            // All ones is no code.
            if code >= 1 << length && count > 0 {
                return None;
            }
            self.ends[length as usize] = code << (16 - length);
            code <<= 1;
        }
        (self.is_whole, self.is_defined) = (true, true);
        Some(())
    }

    /// The code with each value behind it, as far as they are short enough.
    fn define_wholes(&mut self, code: u32, length: u32, symbol: u8) -> Option<()> {
        let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        let total = length + size;
        let run = match (run, size) {
            (0, 0) => END,
            (1..15, 0) => return Some(()), // of no encoder
            (run, _) => run,
        };
        let Some(free) = WHOLE_BITS.checked_sub(total).filter(|_| size <= WHOLE_SIZE) else { return Some(()) };
        for bits in 0..1_u32 << size {
            let below = if size > 0 && bits >> (size - 1) == 0 { (1 << size) - 1 } else { 0 };
            let value = bits as i32 - below;
            let first = (((code << size) | bits) << free) as usize;
            let whole = Whole(total | run << 8 | (value as u32) << 16);
            self.wholes.get_mut(first..first + (1 << free))?.fill(whole);
        }
        Some(())
    }

    /// The entry of the code at the top of `held`.
    #[inline(always)]
    fn entry(&self, held: u64, is_dc: bool) -> Entry {
        let entry = self.entries[(held >> (64 - CODE_BITS)) as usize];
        if entry == Entry::NONE {
            self.long_entry(held, is_dc)
        } else {
            entry
        }
    }

    #[cold]
    #[inline(never)]
    fn long_entry(&self, held: u64, is_dc: bool) -> Entry {
        let top = (held >> 48) as u32;
        let Some(length) = (CODE_BITS + 1..=16).find(|&length| top < self.ends[length as usize]) else {
            return Entry::NONE;
        };
        let place = (top >> (16 - length)) as i32 + self.offsets[length as usize];
        let symbol = usize::try_from(place).ok().and_then(|place| self.symbols.get(place));
        symbol.map_or(Entry::NONE, |&symbol| Entry::of(symbol, length, is_dc))
    }
}

impl Entry {
    const NONE: Self = Self(0);

    fn of(symbol: u8, length: u32, is_dc: bool) -> Self {
        let (run, size) = if is_dc { (0, u32::from(symbol)) } else { (u32::from(symbol >> 4), u32::from(symbol & 15)) };
        Self((length + size) | length << 8 | ((64 - size) % 64) << 16 | run << 24)
    }

    fn bits(self) -> u32 {
        self.0 & 0xFF
    }

    fn has_value(self) -> bool {
        self.0 & 0xFF_0000 != 0
    }

    fn run(self) -> usize {
        (self.0 >> 24) as usize
    }

    /// The value whose bits follow the code at the top of `held`: those that start with 0 are negative.
    #[inline(always)]
    fn value(self, held: u64) -> i32 {
        let behind = held.wrapping_shl(self.0 >> 8);
        let negative = !(behind as i64 >> 63);
        let size = (behind ^ negative as u64).wrapping_shr(self.0 >> 16) as i32;
        (size ^ negative as i32) - negative as i32
    }
}

/// Bytes after the end of the data that may be read; zeros.
pub const PADDING: usize = 24;

/// The bits of one stretch of entropy-coded data, without stuffed bytes, from the first on; zeros after the last.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    data: &'a [u8],
    end: usize,
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    /// From `start` to `end` of `data`; another `PADDING` bytes follow in it.
    pub fn new(data: &'a [u8], start: usize, end: usize) -> Self {
        assert!(start <= end && end + PADDING <= data.len());
        Self { data, end, at: start, held: 0, count: 0 }
    }

    /// Whether more bits were taken than there are.
    pub fn is_overdrawn(&self) -> bool {
        self.at * 8 > self.end * 8 + self.count as usize
    }

    /// Have at least 56 bits at hand.
    #[inline(always)]
    fn refill(&mut self) {
        // SAFETY: `at` is at most `end + 8` and `end + PADDING` at most the length: `new` asserts it.
        let word = unsafe { self.data.as_ptr().add(self.at).cast::<u64>().read_unaligned() };
        self.held |= u64::from_be(word) >> self.count;
        self.at = (self.at + ((63 - self.count) >> 3) as usize).min(self.end + 8);
        self.count |= 56;
    }

    #[inline(always)]
    fn take(&mut self, bits: u32) {
        self.held = self.held.wrapping_shl(bits);
        self.count = self.count.wrapping_sub(bits);
    }
}

/// More than the last place that is asked for: the end of a block after the last coefficient.
const PLACES_LEN: usize = 64 + END as usize;

/// Where each coefficient of a file stands in a block; what lies past the last goes to the places after it.
const PLACES: [u8; PLACES_LEN] = {
    const ORDER: [u8; 64] = [
        0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14,
        21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60,
        61, 54, 47, 55, 62, 63,
    ];
    let mut places = [64; PLACES_LEN];
    let mut at = 0;
    while at < 64 {
        places[at] = ORDER[at];
        at += 1;
    }
    places
};

/// Coefficients times their quantization, row after row; then a place that nobody reads.
pub type Block = [i16; 72];

/// The tables of a component.
pub struct Coding<'a> {
    dc: &'a Table,
    ac: &'a Table,
    /// What becomes of coefficients in the order of the file: times what, and where in the block.
    steps: [(i16, u16); PLACES_LEN],
}

/// Products from here on are of no encoder, and decoders differ in what they make of them.
const LIMIT: i32 = 8192;

/// Where the end of a block leads that is its second code.
const FLAT: usize = 2 + END as usize;

/// What a sound block has.
#[derive(Clone, Copy, PartialEq)]
pub enum Found {
    /// A first coefficient and no other.
    Flat,
    More,
}

impl<'a> Coding<'a> {
    pub fn new(dc: &'a Table, ac: &'a Table, quantization: &[u8; 64]) -> Self {
        let quantum = |place: usize| quantization.get(place).map_or(0, |&quantum| i16::from(quantum));
        Self { dc, ac, steps: std::array::from_fn(|place| (quantum(place), PLACES[place].into())) }
    }

    /// Decode a block into zeros; `dc` goes from block to block. None: it is not sound.
    #[inline(always)]
    pub fn block(&self, bits: &mut Bits, dc: &mut i32, block: &mut Block) -> Option<Found> {
        self.decode::<true>(bits, dc, block)
    }

    /// Pass over a block.
    #[inline(always)]
    pub fn skip(&self, bits: &mut Bits, dc: &mut i32) -> Option<Found> {
        self.decode::<false>(bits, dc, &mut [0; 72])
    }

    #[inline(always)]
    fn decode<const KEPT: bool>(&self, all: &mut Bits, dc: &mut i32, block: &mut Block) -> Option<Found> {
        let mut bits = *all; // in registers
        bits.refill();
        let first = self.dc.entry(bits.held, true);
        if first == Entry::NONE {
            return None;
        }
        if first.has_value() {
            *dc += first.value(bits.held);
        }
        bits.take(first.bits());
        let mut wild = dc.unsigned_abs() as i32; // an intact file's does not grow so
        if KEPT {
            let product = *dc * i32::from(self.steps[0].0);
            wild |= product + LIMIT;
            block[0] = product as i16;
        }
        let mut place = 1_usize;
        'block: loop {
            bits.refill();
            let is_long = 'wholes: {
                for _ in 0..WHOLES {
                    let whole = self.ac.wholes[(bits.held >> (64 - WHOLE_BITS)) as usize].0;
                    if whole == 0 {
                        break 'wholes true;
                    }
                    place += (whole >> 8 & 0xFF) as usize;
                    if KEPT {
                        // SAFETY: `place` was at most 63, and no run is above END, the number of steps being 64 more.
                        let (quantum, target) = unsafe { *self.steps.get_unchecked(place) };
                        let product = ((whole as i32) >> 16) * i32::from(quantum);
                        // SAFETY: no step leads to a place above 64.
                        unsafe { *block.get_unchecked_mut(usize::from(target)) = product as i16 };
                    }
                    bits.take(whole & 0xFF);
                    place += 1;
                    if place > 63 {
                        break 'block;
                    }
                }
                false
            };
            if !is_long {
                continue;
            }
            bits.refill();
            let entry = self.ac.entry(bits.held, false);
            if entry == Entry::NONE {
                return None;
            }
            place += if entry.has_value() || entry.run() == 15 { entry.run() } else { END as usize };
            if KEPT && entry.has_value() {
                let (quantum, target) = *self.steps.get(place)?;
                let product = entry.value(bits.held) * i32::from(quantum);
                wild |= product + LIMIT;
                block[usize::from(target)] = product as i16;
            }
            bits.take(entry.bits());
            place += 1;
            if place > 63 {
                break;
            }
        }
        *all = bits;
        match place {
            _ if wild as u32 >= 2 * LIMIT as u32 => None,
            FLAT => Some(Found::Flat),
            64 => Some(Found::More),
            _ if place > FLAT => Some(Found::More),
            _ => None, // zeros past the last coefficient
        }
    }
}

/// Where the stretches between restart markers start and end in data without stuffed bytes.
pub type Stretches = Vec<(usize, usize)>;

/// Copy the scan at the start of `scan` without its stuffed bytes. None: it ends otherwise than by an end-of-image marker,
/// or its restart markers are not in order.
pub fn unstuff(scan: &[u8], clean: &mut Vec<u8>, stretches: &mut Stretches) -> Option<()> {
    clean.clear();
    clean.reserve(scan.len() + PADDING);
    stretches.clear();
    let (mut rest, mut start) = (scan, 0);
    loop {
        let stop = find_mark(rest)?;
        clean.extend_from_slice(&rest[..stop]);
        match rest.get(stop + 1)? {
            0 => clean.push(0xFF),
            0xD9 => break,
            &marker if usize::from(marker) == 0xD0 + stretches.len() % 8 => {
                stretches.push((start, clean.len()));
                start = clean.len();
            }
            _ => return None,
        }
        rest = &rest[stop + 2..];
    }
    stretches.push((start, clean.len()));
    clean.resize(clean.len() + PADDING, 0);
    Some(())
}

/// The place of the first 0xFF.
#[inline(always)]
fn find_mark(data: &[u8]) -> Option<usize> {
    let (chunks, _) = data.as_chunks::<32>();
    for (number, chunk) in chunks.iter().enumerate() {
        let found = chunk.iter().fold(false, |found, &byte| found | (byte == 0xFF));
        if found {
            return chunk.iter().position(|&byte| byte == 0xFF).map(|place| number * 32 + place);
        }
    }
    let start = chunks.len() * 32;
    data[start..].iter().position(|&byte| byte == 0xFF).map(|place| start + place)
}
