//! Examples as bytes.

/// The values of one feature, and what it is written from.
pub enum Written<'a> {
    Floats(&'a [f32]),
    Ints(&'a [i64]),
    Texts(Vec<&'a [u8]>),
    /// A feature without a list.
    Nothing,
}

/// A message while it is written: every length is known before what it counts.
#[derive(Default)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Features, as field `tag` of this message.
    pub fn put_features(&mut self, tag: u8, features: &[(&[u8], Written<'_>)]) {
        let entries: Vec<usize> =
            features.iter().map(|(name, value)| entry_length(name, feature_length(value))).collect();
        self.put_length(tag, entries.iter().map(|&entry| field_length(entry)).sum());
        for ((name, value), entry) in features.iter().zip(entries) {
            self.put_entry(name, entry, feature_length(value));
            self.put_feature(value);
        }
    }

    /// Lists of features, as field `tag` of this message.
    pub fn put_feature_lists(&mut self, tag: u8, lists: &[(&[u8], Vec<Written<'_>>)]) {
        let lengths: Vec<usize> =
            lists.iter().map(|(_, steps)| steps.iter().map(|step| field_length(feature_length(step))).sum()).collect();
        let entries: Vec<usize> =
            lists.iter().zip(&lengths).map(|((name, _), &length)| entry_length(name, length)).collect();
        self.put_length(tag, entries.iter().map(|&entry| field_length(entry)).sum());
        for (((name, steps), length), entry) in lists.iter().zip(lengths).zip(entries) {
            self.put_entry(name, entry, length);
            for step in steps {
                self.put_length(0x0a, feature_length(step));
                self.put_feature(step);
            }
        }
    }

    fn put_entry(&mut self, name: &[u8], entry: usize, value: usize) {
        self.put_length(0x0a, entry);
        self.put_text(name);
        self.put_length(0x12, value);
    }

    fn put_feature(&mut self, value: &Written<'_>) {
        match value {
            Written::Nothing => {}
            Written::Texts(texts) => {
                self.put_length(0x0a, list_length(value));
                texts.iter().for_each(|text| self.put_text(text));
            }
            Written::Floats(floats) => {
                self.put_length(0x12, list_length(value));
                if !floats.is_empty() {
                    self.put_length(0x0a, 4 * floats.len());
                    floats.iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
                }
            }
            Written::Ints(ints) => {
                self.put_length(0x1a, list_length(value));
                if !ints.is_empty() {
                    self.put_length(0x0a, ints.iter().map(|&number| varint_length(number as u64)).sum());
                    ints.iter().for_each(|&number| self.put_varint(number as u64));
                }
            }
        }
    }

    fn put_text(&mut self, text: &[u8]) {
        self.put_length(0x0a, text.len());
        self.bytes.extend(text);
    }

    fn put_length(&mut self, tag: u8, length: usize) {
        self.bytes.push(tag);
        self.put_varint(length as u64);
    }

    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

fn varint_length(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Bytes of a field of so many: tag, length, content.
fn field_length(content: usize) -> usize {
    1 + varint_length(content as u64) + content
}

fn entry_length(name: &[u8], value: usize) -> usize {
    field_length(name.len()) + field_length(value)
}

fn feature_length(value: &Written<'_>) -> usize {
    match value {
        Written::Nothing => 0,
        _ => field_length(list_length(value)),
    }
}

fn list_length(value: &Written<'_>) -> usize {
    let packed = match value {
        Written::Nothing => return 0,
        Written::Texts(texts) => return texts.iter().map(|text| field_length(text.len())).sum(),
        Written::Floats(floats) => 4 * floats.len(),
        Written::Ints(ints) => ints.iter().map(|&number| varint_length(number as u64)).sum(),
    };
    if packed == 0 {
        0
    } else {
        field_length(packed)
    }
}
