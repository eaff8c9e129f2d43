"""Client configuration. Only the region has an effect."""


class Config:
    def __init__(self, region_name=None, **settings):
        self.region_name = region_name
        self.__dict__.update(settings)

    def merge(self, other):
        return Config(**{**self.__dict__, **{name: value for name, value in other.__dict__.items() if value is not None}})
