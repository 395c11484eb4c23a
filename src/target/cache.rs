//! Results that targets share, without naming the targets.

use std::any::{Any, TypeId};

use elsa::sync::FrozenMap;

/// One value of each type, computed when it is first asked for.
///
/// A target declares a type of its own for what it shares, so that no other target can put a value in its place.
#[derive(Default)]
pub struct Cache(FrozenMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Cache {
    /// The value of type `T`. `compute` may ask for values of other types; what two threads compute at once is kept once.
    pub fn get_or_init<T: Any + Send + Sync>(&self, compute: impl FnOnce() -> T) -> &T {
        let key = TypeId::of::<T>();
        let value = match self.0.get(&key) {
            Some(value) => value,
            None => self.0.insert(key, Box::new(compute())),
        };
        value.downcast_ref().expect("a value lies under its type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_computed_once() {
        struct Sum(u32);
        let cache = Cache::default();
        let length = cache.get_or_init(|| 3_usize);
        assert_eq!(cache.get_or_init(|| Sum(7)).0, 7);
        assert_eq!(cache.get_or_init(|| Sum(8)).0, 7);
        assert_eq!((*length, *cache.get_or_init(|| 4_usize)), (3, 3));
    }
}
